import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import {
  type Asked,
  scriptedEndpoint,
  type Script,
  type Step,
} from '../../libs/providers/src/scripted-endpoint.testkit.js';
import { CANARY, evaluate, type Evaluated, folder } from './evaluation.testkit.js';

const contract = (providers: string, agent = 'tools = ["read_file", "write_file"]') => `
id = "sums"
instructions = "Write the sum of 2 and 2 to answer.txt."
[agent]
kind = "llm"
provider = "main"
${agent}
[[criteria]]
id = "right"
kind = "match"
file = "answer.txt"
equals = "4"
[[criteria]]
id = "kind"
kind = "review"
question = "Is it kind?"
[panel]
quorum = 2
reviewers = [ { name = "a", provider = "main", instructions = "Be strict." }, { name = "b", provider = "main" } ]
[budget]
max_steps = 6
max_cost_usd = 1
timeout = "60s"
[learning]
extractor = "llm"
provider = "main"
${providers}
`;
const live = (url: string, name = 'main') => `
[providers.${name}]
kind = "openai-compatible"
base_url = "${url}"
model = "test-model"
api_key_env = "TEST_KEY"
temperature = 0
price = { input_usd_per_mtok = 1, output_usd_per_mtok = 2 }
`;
const price = 'price = { input_usd_per_mtok = 1, output_usd_per_mtok = 2 }';

/** A model that is right with and without lessons, and says which it was shown. */
function script({ body, text }: Asked): Step {
  const shape = JSON.stringify(body['response_format'] ?? '');
  if (shape.includes('"vote"')) return { kind: 'reply', text: '{"vote":"approve","reason":"yes"}' };
  if (shape.includes('"lessons"')) {
    const lesson = {
      title: 'Write the digit',
      when: 'A sum is asked for.',
      when_not: '',
      text: 'Write the sum as a digit alone.',
    };
    return { kind: 'reply', text: JSON.stringify({ lessons: [lesson] }) };
  }
  const cited = /lesson_\d+/.exec(text)?.[0];
  if (text.includes('"role":"tool"'))
    return { kind: 'reply', text: cited === undefined ? 'Done.' : `Done, by ${cited}.` };
  return { kind: 'reply', tool_calls: [{ name: 'write_file', arguments: { path: 'answer.txt', text: '4' } }] };
}

async function endpointWith(how: Script) {
  const endpoint = await scriptedEndpoint(how);
  onTestFinished(() => endpoint.close());
  return endpoint;
}

const count = ({ entries }: Evaluated, type: string) => entries.filter((entry) => entry.type === type).length;

test('a whole evaluation of models is measured call by call, verifies, and has no key in it', async () => {
  const endpoint = await endpointWith(script);
  const evaluated = await evaluate(join(folder({ 'contract.toml': contract(live(endpoint.url)) }), 'contract.toml'));
  const { report } = evaluated;
  expect([evaluated.result, evaluated.errors]).toEqual(['valid', []]);
  expect(count(evaluated, 'model_call_started')).toBe(endpoint.asked.length);
  expect(count(evaluated, 'model_call_completed')).toBe(endpoint.asked.length);
  // In each run two calls of the agent and two reviewers; in learning_on one that writes a lesson. Two reviewers judge the first; the second says the
  // same, and is refused before it costs a vote.
  expect(endpoint.asked).toHaveLength(4 * 4 + 2 + 2);
  const [on, off] = report.arms;
  expect(on?.usage).toEqual({
    cost_usd: 12 * 0.000018,
    steps: 4,
    input_tokens: 144,
    output_tokens: 36,
    unmeasured_calls: 0,
    unpriced_calls: 0,
  });
  expect(off?.usage).toEqual({
    cost_usd: 8 * 0.000018,
    steps: 4,
    input_tokens: 96,
    output_tokens: 24,
    unmeasured_calls: 0,
    unpriced_calls: 0,
  });
  expect(report.spend).toMatchObject({
    agent: { steps: 8, input_tokens: 96 },
    reviewers: { steps: 0, input_tokens: 120 },
    extraction: { steps: 0, input_tokens: 24 },
    unmeasured_calls: 0,
    unpriced_calls: 0,
  });
  expect(report.environment).toMatchObject({
    arms_differ_only_in_memory: true,
    prompts: { compared: 2, different: 0, not_compared: 0 },
  });
  expect(report.verdict).toBe('fail');
  expect(count(evaluated, 'lesson_promoted')).toBe(1);
  const reported = evaluated.entries.flatMap((entry) => (entry.type === 'agent_reported' ? entry.body.events : []));
  expect(reported).toEqual([{ type: 'cited', lesson: 'lesson_1' }]);
  expect(endpoint.asked[0]?.headers.authorization).toBe(`Bearer ${CANARY}`);
  expect(evaluated.stored).not.toContain(CANARY);
});

test('an endpoint that is gone makes every run unverifiable, and the evaluation is complete', async () => {
  const endpoint = await endpointWith([]);
  const { report, result, errors } = await evaluate(
    join(folder({ 'contract.toml': contract(live(endpoint.url)) }), 'contract.toml'),
  );
  expect([result, errors]).toEqual(['valid', []]);
  for (const { counts, usage } of report.arms) {
    expect(counts).toEqual({ pass: 0, fail: 0, unverifiable: 2 });
    expect(usage).toMatchObject({ cost_usd: 0, unmeasured_calls: 0 });
  }
});

// Ids, refs, hashes and times: all that may differ between two evaluations that asked and were told the same.
function measured({ report }: Evaluated): unknown {
  const text = JSON.stringify({ ...report, evidence: null, environment: null });
  return JSON.parse(text.replaceAll(/ev_[0-9a-f]{32}|[0-9a-f]{64}|#\d+@/g, ''));
}

test('what was recorded plays back without the endpoint, to the same measured block', async () => {
  const endpoint = await endpointWith(script);
  const recording = `[providers.main]\nkind = "replay"\nfile = "calls.jsonl"\nrecord_from = "live"\n${price}\n${live(endpoint.url, 'live')}`;
  const made = folder({ 'contract.toml': contract(recording) });
  const first = await evaluate(join(made, 'contract.toml'));
  expect(first.result).toBe('valid');
  expect(existsSync(join(made, 'calls.jsonl'))).toBe(true);
  const calls = readFileSync(join(made, 'calls.jsonl'), 'utf8');
  expect(calls.trimEnd().split('\n')).toHaveLength(endpoint.asked.length);
  expect(calls).not.toContain(CANARY);
  await endpoint.close();

  const playing = `[providers.main]\nkind = "replay"\nfile = "calls.jsonl"\nmodel = "test-model"\ntemperature = 0\n${price}\n`;
  const played = folder({ 'contract.toml': contract(playing), 'calls.jsonl': calls });
  const second = await evaluate(join(played, 'contract.toml'));
  expect([second.result, second.errors]).toEqual(['valid', []]);
  expect(measured(second)).toEqual(measured(first));

  const changed = folder({
    'contract.toml': contract(playing).replace('of 2 and 2', 'of 2 and 3'),
    'calls.jsonl': calls,
  });
  const third = await evaluate(join(changed, 'contract.toml'), { repeats: 1 });
  const broken = third.entries.flatMap((entry) => (entry.type === 'infrastructure_failed' ? [entry.body.code] : []));
  expect(broken).toEqual(['replay_differs', 'replay_differs']);
  for (const { counts } of third.report.arms) expect(counts).toEqual({ pass: 0, fail: 0, unverifiable: 1 });
});
