import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { WIRE_TOPICS } from '#lib/schemas';
import { settingsOf } from './deploy-topics.js';

interface Channel {
  readonly title: string;
  readonly bindings: { readonly kafka: { readonly topicConfiguration: Readonly<Record<string, unknown>> } };
}

const text = readFileSync(new URL('../../../../docs/asyncapi.yaml', import.meta.url), 'utf8');
const channels = Object.values((parse(text) as { readonly channels: Record<string, Channel> }).channels);

test.each(WIRE_TOPICS)('docs/asyncapi.yaml says of %s what truss deploy topics makes it', (topic) => {
  const channel = channels.find(({ title }) => title === topic) ?? expect.fail('it is not there');
  const said = Object.entries(channel.bindings.kafka.topicConfiguration).map(([name, value]) => [name, String(value)]);
  // Of the settings of a deployment, those that are nobody else's business are not in it.
  const { 'min.insync.replicas': _isr, 'unclean.leader.election.enable': _unclean, ...settings } = settingsOf(topic, 1);
  const { 'message.timestamp.type': _time, ...made } = settings;
  expect(Object.fromEntries(said)).toEqual(made);
});
