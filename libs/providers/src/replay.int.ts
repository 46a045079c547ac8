import { hash } from 'node:crypto';
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Contract } from '#lib/contract';
import { CANARY, failureOf, options, provider, request } from './model.testkit.js';
import { openModel } from './open.js';
import type { ModelPort } from './port.js';
import { type Script, scriptedEndpoint } from './scripted-endpoint.testkit.js';

async function recordingOf(script: Script) {
  const endpoint = await scriptedEndpoint(script);
  const directory = await mkdtemp(join(tmpdir(), 'truss-replay-'));
  onTestFinished(async () => {
    await endpoint.close();
    await rm(directory, { recursive: true, force: true });
  });
  const live = provider('openai-compatible', { base_url: endpoint.url });
  const replay = { ...live, kind: 'replay' as const, base_url: null, api_key_env: null, file: 'calls.jsonl' };
  const open = (
    change: { record_from: string | null },
    env: Record<string, string>,
    programs: Contract['programs'] = [],
  ) =>
    openModel(
      { name: 'main', contract: { providers: { live, main: { ...replay, ...change } }, programs }, directory },
      { env },
    );
  return {
    endpoint,
    file: join(directory, 'calls.jsonl'),
    record: () => open({ record_from: 'live' }, { TEST_KEY: CANARY }),
    play: (programs?: Contract['programs']) => open({ record_from: null }, {}, programs),
    /** Records without the key: works for what is there. */
    replayGrowing: () => open({ record_from: 'live' }, {}),
  };
}

const user = (text: string) => request({ messages: [{ role: 'user', text }] });
const textsOf = async (port: ModelPort, asks: [lane: string, text: string][]) => {
  const texts: string[] = [];
  for (const [lane, text] of asks) texts.push((await port.call(user(text), options({ lane }))).text);
  return texts;
};
/** Answers that tell the calls apart. */
const numbered: Script = (_, index) => ({ kind: 'reply', text: `answer ${index + 1}` });

describe('a recording', () => {
  test('plays back all of an answer, in order for each lane and request, and asks nobody', async () => {
    const { record, play, endpoint } = await recordingOf((_, index) => ({
      kind: 'reply',
      text: `answer ${index + 1}`,
      tool_calls: [
        { name: 'read_file', arguments: { path: 'a' } },
        { name: 'read_file', arguments: '{"path"' },
      ],
      usage: index === 1 ? null : { prompt_tokens: 9, completion_tokens: 2 },
    }));
    const asks: [string, string][] = [
      ['on.1.1', 'a'],
      ['on.1.1', 'b'],
      ['on.1.1', 'a'],
      ['off.1.1', 'a'],
    ];
    const recording = record();
    const recorded = [];
    for (const [lane, text] of asks) recorded.push(await recording.call(user(text), options({ lane })));
    const player = play();
    const played = [];
    for (const [lane, text] of asks.toReversed()) played.push(await player.call(user(text), options({ lane })));
    expect(played.map(({ text }) => text)).toEqual(['answer 4', 'answer 1', 'answer 2', 'answer 3']);
    expect(played[0]).toEqual(recorded[3]);
    expect(played[2]).toEqual(recorded[1]);
    expect(endpoint.asked).toHaveLength(4);
  });

  test('is played from the beginning by every run, and from where it was by one that resumes', async () => {
    const { record, play } = await recordingOf(numbered);
    await textsOf(record(), [
      ['r', 'a'],
      ['r', 'a'],
    ]);
    expect(
      await textsOf(play(), [
        ['r', 'a'],
        ['r', 'a'],
      ]),
    ).toEqual(['answer 1', 'answer 2']);
    expect((await play().call(user('a'), options({ lane: 'r', occurrence: 1 }))).text).toBe('answer 2');
  });

  test('gives the n-th answer to the n-th call, for calls at once too', async () => {
    const { record, play } = await recordingOf(numbered);
    await textsOf(record(), [
      ['r', 'a'],
      ['r', 'a'],
    ]);
    const port = play();
    const [one, two] = await Promise.all([
      port.call(user('a'), options({ lane: 'r' })),
      port.call(user('a'), options({ lane: 'r' })),
    ]);
    expect([one.text, two.text]).toEqual(['answer 1', 'answer 2']);
  });

  test('that grows plays what it has, without a key, and records the rest', async () => {
    const { record, replayGrowing, endpoint } = await recordingOf(numbered);
    await textsOf(record(), [['r', 'a']]);
    expect(await textsOf(replayGrowing(), [['r', 'a']])).toEqual(['answer 1']);
    const error = await failureOf(replayGrowing().call(user('b'), options({ lane: 'r' })));
    expect(error.code).toBe('provider_key_missing');
    expect(
      await textsOf(record(), [
        ['r', 'a'],
        ['r', 'b'],
      ]),
    ).toEqual(['answer 1', 'answer 2']);
    expect(endpoint.asked).toHaveLength(2);
  });

  test('goes on after a crash within a line, which is asked again', async () => {
    const { record, play, file } = await recordingOf(numbered);
    await textsOf(record(), [['r', 'a']]);
    await appendFile(file, '{"v":1,"lane":"é');
    expect((await failureOf(play().call(user('a'), options()))).message).toContain('ends within a line');
    expect(
      await textsOf(record(), [
        ['r', 'a'],
        ['r', 'b'],
      ]),
    ).toEqual(['answer 1', 'answer 2']);
    expect(await textsOf(play(), [['r', 'b']])).toEqual(['answer 2']);
  });

  test('holds neither prompts, nor addresses, nor keys', async () => {
    const { record, file, endpoint } = await recordingOf((asked) => ({
      kind: 'reply',
      text: String(asked.headers.authorization),
    }));
    await textsOf(record(), [['r', 'a very private question']]);
    const text = await readFile(file, 'utf8');
    for (const secret of [CANARY, 'private', endpoint.url]) expect(text).not.toContain(secret);
  });

  test('has no failed call, so that it is made again', async () => {
    const { record, file } = await recordingOf([
      { kind: 'raw', status: 401 },
      { kind: 'reply', text: 'now' },
    ]);
    const port = record();
    expect((await failureOf(port.call(user('a'), options()))).code).toBe('provider_refused');
    await expect(readFile(file)).rejects.toThrow('ENOENT');
    expect((await record().call(user('a'), options())).text).toBe('now');
  });
});

describe('a call that was not recorded is refused', () => {
  test('with the names of the fields that differ from the nearest one', async () => {
    const { record, play } = await recordingOf(numbered);
    const port = record();
    await port.call(user('a'), options({ lane: 'r' }));
    await port.call(
      request({
        messages: [
          { role: 'user', text: 'b' },
          { role: 'user', text: 'c' },
        ],
      }),
      options({ lane: 'r' }),
    );
    const asked = request({
      temperature: 1,
      messages: [
        { role: 'user', text: 'b' },
        { role: 'user', text: 'd' },
      ],
    });
    const error = await failureOf(play().call(asked, options({ lane: 'r' })));
    expect(error).toMatchObject({ code: 'replay_differs', retriable: false, attempts: 0 });
    expect(error.message).toBe(
      'The recording calls.jsonl has no such call: `messages[1]`, `temperature` differ from call 2 of `r`, the nearest; record again, or change back what differs.',
    );
  });

  test('when it comes more often than it was recorded', async () => {
    const { record, play } = await recordingOf(numbered);
    await textsOf(record(), [['r', 'a']]);
    const port = play();
    await textsOf(port, [['r', 'a']]);
    const error = await failureOf(port.call(user('a'), options({ lane: 'r' })));
    expect(error.message).toContain('it answers this one 1 times, and this is time 2');
  });

  test('when it comes from a lane that was not recorded', async () => {
    const { record, play } = await recordingOf(numbered);
    await textsOf(record(), [['r', 'a']]);
    expect((await failureOf(play().call(user('a'), options({ lane: 's' })))).message).toContain(
      'nothing of `s` is recorded',
    );
  });
});

describe('a file is refused as a recording', () => {
  test('when it is not there', async () => {
    const { play } = await recordingOf([]);
    expect(await failureOf(play().call(user('a'), options()))).toMatchObject({ code: 'replay_unreadable' });
  });

  test.for([
    ['text', 'x'],
    ['another format', '{"v":2}'],
    ['an answer with a count that is none', '"usage":{"input_tokens":-1'],
  ] as const)('when a line is %s, by its number', async ([, line]) => {
    const { record, play, file } = await recordingOf(numbered);
    await textsOf(record(), [['r', 'a']]);
    const good = await readFile(file, 'utf8');
    const bad = line.startsWith('"usage"') ? good.replace('"usage":{"input_tokens":12', line) : `${line}\n`;
    await writeFile(file, good + bad);
    expect((await failureOf(play().call(user('a'), options()))).message).toContain(
      'Line 2 of the recording calls.jsonl',
    );
  });

  test('when its bytes are not those that the contract pins', async () => {
    const { record, play, file } = await recordingOf(numbered);
    await textsOf(record(), [['r', 'a']]);
    const bytes = await readFile(file);
    const pinned = [{ path: 'calls.jsonl', sha256: hash('sha256', bytes), bytes: bytes.length }];
    expect(await textsOf(play(pinned), [['r', 'a']])).toEqual(['answer 1']);
    await appendFile(file, '\n');
    const error = await failureOf((async () => play(pinned))());
    expect(error).toMatchObject({ code: 'replay_unreadable' });
    expect(error.message).toContain('not the one that the contract pins');
  });
});

test('a replay ends when its signal says so', async () => {
  const { record, play } = await recordingOf(numbered);
  await textsOf(record(), [['', 'a']]);
  const error = await failureOf(play().call(user('a'), options({ signal: AbortSignal.abort() })));
  expect(error.code).toBe('provider_aborted');
});
