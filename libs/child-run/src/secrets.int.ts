import { expect, onTestFinished, test } from 'vitest';
import type { Contract } from '#lib/contract';
import type { Script } from '../../providers/src/scripted-endpoint.testkit.js';
import { drive, node, REPORT } from './child-run.testkit.js';
import { asks, CANARY, everythingLeft, type ModelGiven, modelKit, reply } from './model.testkit.js';

const ALL = ['list_files', 'read_file', 'write_file', 'run_command'];
const long = `${'x'.repeat(20_000)}${CANARY}`;
const panel: Contract['panel'] = { quorum: 1, reviewers: [{ name: 'a', provider: 'main', instructions: null }] };
const taste = { id: 'taste', kind: 'review' as const, question: 'Is it kind?' };
const learning: Contract['learning'] = {
  extractor: 'llm',
  provider: 'main',
  gates: ['checks', 'panel'],
  scope: 'pager',
  max_recalled: 5,
  same_case: 'exclude',
};
const words = { title: CANARY, when: CANARY, when_not: CANARY, text: CANARY };

/** Every path by which a key may come back: said by a model, an endpoint, a program, a file, or a name. */
const PATHS: [string, Script, ModelGiven][] = [
  ['a reply', [reply(`my key is ${CANARY}`)], {}],
  ['a long reply, which is an attachment', [reply(long)], {}],
  ['the name of a model', [reply('spam', { model: CANARY })], {}],
  ['a usage', [reply('spam', { usage: { [CANARY]: CANARY } })], {}],
  ['the name and arguments of a tool call', [asks(CANARY, { [CANARY]: CANARY }), reply('Done.')], { tools: ALL }],
  ['malformed arguments', [asks('read_file', `{"${CANARY}`), reply('Done.')], { tools: ALL }],
  [
    'a file that a model writes',
    [asks('write_file', { path: 'answer.txt', text: long }), reply('Done.')],
    { tools: ALL },
  ],
  [
    'a command: its output, its files, their names, its links',
    [
      asks('run_command', {
        command: `k=$(printf 'sk-canary-4f1c9a7e2b8d%s' 6053); echo $k; echo $k >&2; echo $k > f; printf 'xx%s' $k > b; echo 1 > $k; ln -s $k l; mkdir d; echo $k > d/$k`,
      }),
      reply('Done.'),
    ],
    { tools: ALL },
  ],
  ['an error of the endpoint', [{ kind: 'raw', status: 400, body: `{"error":{"message":"bad key ${CANARY}"}}` }], {}],
  ['a page of the endpoint', [{ kind: 'raw', status: 401, body: `<html>${CANARY}</html>` }], {}],
  [
    'a reviewer, and lessons that a model writes',
    (asked) =>
      JSON.stringify(asked.body['response_format'] ?? '').includes('"vote"')
        ? reply(JSON.stringify({ vote: 'approve', reason: CANARY }))
        : reply(asked.body['response_format'] === undefined ? CANARY : JSON.stringify({ lessons: [words] })),
    { contract: { criteria: [taste], panel, learning } },
  ],
  [
    'a program as agent, criterion and reviewer',
    [],
    {
      contract: {
        agent: {
          kind: 'command',
          command: node(
            `${REPORT} import { writeFileSync } from 'node:fs'; const k = ['sk-canary', '4f1c9a7e2b8d6053'].join('-');
             report({ type: 'note', text: k }); report({ type: 'lesson', title: k, when: k, text: k }); report({ [k]: k });
             console.log(k); console.error(k); writeFileSync('answer.txt', k);`,
          ),
        },
        criteria: [
          {
            id: 'prints',
            kind: 'command',
            run: node("console.log(['sk-canary', '4f1c9a7e2b8d6053'].join('-'))"),
            timeout_ms: 10_000,
          },
          taste,
        ],
        panel: {
          quorum: 1,
          reviewers: [
            {
              name: 'a',
              command: node(
                "console.log(JSON.stringify({ vote: 'approve', reason: ['sk-canary', '4f1c9a7e2b8d6053'].join('-') }))",
              ),
              instructions: null,
            },
          ],
        },
        learning: { ...learning, extractor: 'agent', provider: null },
      },
    },
  ],
];

test.each(PATHS)(
  'a key that comes back by %s is in no entry, no attachment and no prompt',
  async (_, script, given) => {
    const printed: string[] = [];
    for (const stream of [process.stdout, process.stderr]) {
      const write = stream.write.bind(stream);
      stream.write = (chunk: string | Uint8Array, ...rest: never[]) => {
        printed.push(String(chunk));
        return write(chunk, ...rest);
      };
      onTestFinished(() => void (stream.write = write));
    }
    const run = await modelKit(script, given);
    await drive(run);
    const left = await everythingLeft(run);
    expect(run.last('run_sealed')).toBeDefined();
    expect(left).toContain('run_sealed');
    expect(left.split(CANARY)).toHaveLength(1);
    for (const { text, headers } of run.endpoint.asked) {
      expect(text).not.toContain(CANARY);
      expect(headers.authorization).toBe(`Bearer ${CANARY}`);
    }
    expect(printed.join('')).not.toContain(CANARY);
  },
);

test('the same value is found where nothing redacts it: the canary can fail', async () => {
  const run = await modelKit([asks('run_command', { command: `echo ${CANARY} > f` }), reply(CANARY)], {
    tools: ALL,
    env: {},
    provider: { api_key_env: null },
  });
  await drive(run);
  expect((await everythingLeft(run)).split(CANARY).length).toBeGreaterThan(3);
});

test('what a redacted file holds is what is judged', async () => {
  const run = await modelKit([reply(CANARY)], {
    contract: { criteria: [{ id: 'label', kind: 'match', file: 'answer.txt', equals: '[redacted TEST_KEY]' }] },
  });
  await drive(run);
  expect(run.last('run_sealed').verdict).toBe('pass');
});
