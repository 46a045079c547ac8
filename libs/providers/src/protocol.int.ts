import { describe, expect, test } from 'vitest';
import { request, scene } from './model.testkit.js';
import type { ModelMessage, ModelTool } from './port.js';
import { callSettings } from './prompt.js';

const tools: ModelTool[] = [
  {
    name: 'read_file',
    description: 'Reads a file.',
    json_schema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  },
];
const transcript: ModelMessage[] = [
  { role: 'user', text: 'Read both.' },
  {
    role: 'assistant',
    text: 'I read.',
    tool_calls: [
      { id: 'c1', name: 'read_file', arguments: { path: 'a' } },
      { id: 'c2', name: 'read_file', malformed: '{"path": ' },
    ],
  },
  { role: 'tool', tool_call_id: 'c1', name: 'read_file', text: 'one' },
  { role: 'tool', tool_call_id: 'c2', name: 'read_file', text: 'these arguments are no JSON' },
];
const structured = {
  name: 'vote',
  json_schema: {
    type: 'object',
    properties: { vote: { enum: ['approve', 'reject'] } },
    required: ['vote'],
    additionalProperties: false,
  },
};

describe.for(['openai', 'openai-compatible'] as const)('%s', (kind) => {
  test('sends system, messages, tools and settings in the chat-completions protocol', async () => {
    const { call, endpoint } = await scene([{ kind: 'reply', text: 'Done.' }], { kind });
    await call({ messages: transcript, tools, temperature: 0.3, max_output_tokens: 77 });
    const [asked] = endpoint.asked;
    expect(asked?.path).toBe('/v1/chat/completions');
    expect(asked?.headers.authorization).toMatch(/^Bearer sk-canary/);
    expect(asked?.body).toMatchObject({ model: 'test-model', temperature: 0.3, max_tokens: 77, tool_choice: 'auto' });
    expect(asked?.body['tools']).toMatchObject([
      {
        type: 'function',
        function: { name: 'read_file', description: 'Reads a file.', parameters: tools[0]?.json_schema },
      },
    ]);
    expect(asked?.body.messages).toEqual([
      { role: 'system', content: 'You answer.' },
      { role: 'user', content: 'Read both.' },
      {
        role: 'assistant',
        content: 'I read.',
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'read_file', arguments: '{"path":"a"}' } },
          { id: 'c2', type: 'function', function: { name: 'read_file', arguments: '{"malformed":"{\\"path\\": "}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'one' },
      { role: 'tool', tool_call_id: 'c2', content: 'these arguments are no JSON' },
    ]);
  });

  test('asks for JSON of a schema', async () => {
    const { call, endpoint } = await scene([{ kind: 'reply', text: '{"vote":"approve"}' }], { kind });
    expect((await call({ structured })).text).toBe('{"vote":"approve"}');
    expect(endpoint.asked[0]?.body['response_format']).toMatchObject({
      type: 'json_schema',
      json_schema: { name: 'vote', schema: structured.json_schema, strict: true },
    });
  });

  test('reads text, tool calls, usage and the reason to stop', async () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 40,
      prompt_tokens_details: { cached_tokens: 60 },
      completion_tokens_details: { reasoning_tokens: 30 },
    };
    const calls = [
      { id: 'x', name: 'read_file', arguments: { path: 'a' } },
      { name: 'list_files', arguments: '' },
    ];
    const { call } = await scene([{ kind: 'reply', text: 'I look.', tool_calls: calls, usage }], { kind });
    expect(await call({ tools })).toEqual({
      text: 'I look.',
      tool_calls: [
        { id: 'x', name: 'read_file', arguments: { path: 'a' } },
        { id: 'call_2', name: 'list_files', arguments: {} },
      ],
      finish: 'tool_calls',
      usage: {
        input_tokens: 100,
        output_tokens: 40,
        cached_input_tokens: 60,
        cache_write_tokens: null,
        reasoning_tokens: 30,
      },
      model: 'test-model',
      retries: 0,
      unmeasured_attempts: 0,
      raw_usage: JSON.stringify(usage),
      warnings: [],
    });
  });
});

describe('anthropic', () => {
  test('sends the transcript in its own protocol, the key in its own header', async () => {
    const { call, endpoint } = await scene([{ kind: 'reply', text: 'Done.' }], { kind: 'anthropic' });
    await call({ messages: transcript, tools });
    const [asked] = endpoint.asked;
    expect(asked?.path).toBe('/v1/messages');
    expect(asked?.headers['x-api-key']).toMatch(/^sk-canary/);
    expect(asked?.headers.authorization).toBeUndefined();
    expect(asked?.body).toMatchObject({
      model: 'test-model',
      max_tokens: 100,
      system: [{ type: 'text', text: 'You answer.' }],
      tools: [{ name: 'read_file', input_schema: tools[0]?.json_schema }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Read both.' }] },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'I read.' },
            { type: 'tool_use', id: 'c1', name: 'read_file', input: { path: 'a' } },
            { type: 'tool_use', id: 'c2', name: 'read_file', input: { malformed: '{"path": ' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'c1', content: 'one' },
            { type: 'tool_result', tool_use_id: 'c2', content: 'these arguments are no JSON' },
          ],
        },
      ],
    });
  });

  test('counts cached and written input as part of all input', async () => {
    const usage = { input_tokens: 10, cache_read_input_tokens: 70, cache_creation_input_tokens: 20, output_tokens: 5 };
    const calls = [{ id: 't', name: 'read_file', arguments: { path: 'a' } }];
    const { call } = await scene([{ kind: 'reply', tool_calls: calls, usage }], { kind: 'anthropic' });
    expect(await call({ tools })).toMatchObject({
      text: '',
      tool_calls: [{ id: 't', name: 'read_file', arguments: { path: 'a' } }],
      finish: 'tool_calls',
      usage: {
        input_tokens: 100,
        output_tokens: 5,
        cached_input_tokens: 70,
        cache_write_tokens: 20,
        reasoning_tokens: null,
      },
    });
  });
});

describe('any answer', () => {
  test('keeps arguments that are no JSON object, or that no ledger can hold, as text', async () => {
    const bad = [
      '{"path": ',
      '[1]',
      '"a"',
      '{"n": 9007199254740993000}',
      '{"s": "\\ud800"}',
      `${'{"a":'.repeat(70)}1${'}'.repeat(70)}`,
    ];
    const calls = bad.map((text) => ({ name: 'read_file', arguments: text }));
    const { call } = await scene([{ kind: 'reply', tool_calls: calls }]);
    expect(
      (await call({ tools })).tool_calls.map((one) => ('malformed' in one ? one.malformed : one.arguments)),
    ).toEqual(bad);
  });

  test('cut by the length limit says so', async () => {
    const { call } = await scene([{ kind: 'reply', text: 'It is a', finish: 'length' }]);
    expect(await call()).toMatchObject({ text: 'It is a', finish: 'length' });
  });

  test('stopped by a filter says so', async () => {
    const { call } = await scene([{ kind: 'reply', text: '', finish: 'content_filter' }]);
    expect(await call()).toMatchObject({ text: '', finish: 'content_filter' });
  });

  test('names the model that the provider names, which need not be the one that was asked', async () => {
    const { call } = await scene([{ kind: 'reply', text: 'x', model: 'other-model-2' }]);
    expect((await call()).model).toBe('other-model-2');
  });

  test('that is empty is an answer, and a lone surrogate in one does not break a ledger', async () => {
    const { call } = await scene([
      { kind: 'reply', text: '' },
      {
        kind: 'raw',
        status: 200,
        body: '{"choices":[{"message":{"role":"assistant","content":"\\ud800"},"finish_reason":"stop"}]}',
      },
    ]);
    expect(await call()).toMatchObject({ text: '', finish: 'stop' });
    expect(await call()).toMatchObject({ text: '\ufffd', model: null });
  });

  test.for([
    ['none', null, null, null],
    ['negative', { prompt_tokens: -5, completion_tokens: 3 }, null, 3],
    ['a fraction', { prompt_tokens: 5.5, completion_tokens: 3 }, null, 3],
    ['absurd', { prompt_tokens: 12, completion_tokens: 1e15 }, 12, null],
    ['text', { prompt_tokens: '12', completion_tokens: 3 }, null, 3],
    ['half', { completion_tokens: 3 }, null, 3],
    ['zero for a request that had words', { prompt_tokens: 0, completion_tokens: 3 }, null, 3],
    ['zero for an answer that has words', { prompt_tokens: 12, completion_tokens: 0 }, 12, null],
    ['a list', { prompt_tokens: [], completion_tokens: {} }, null, null],
  ] as const)('with %s as its usage is an answer of unknown usage', async ([, usage, input, output]) => {
    const { call } = await scene([{ kind: 'reply', text: 'x', usage }]);
    const answer = await call();
    expect(answer.text).toBe('x');
    expect(answer.usage).toMatchObject({ input_tokens: input, output_tokens: output });
    expect(answer.raw_usage).toBe(usage === null ? null : JSON.stringify(usage));
  });

  test('says what of the request the provider could not be told', async () => {
    const { call, endpoint } = await scene([{ kind: 'reply', text: 'x' }], { kind: 'openai' });
    const { warnings } = await call({ model: 'o3', temperature: 0.5 });
    expect(warnings).toEqual([expect.stringContaining('temperature is not supported for reasoning models')]);
    expect(endpoint.asked[0]?.body).toMatchObject({ model: 'o3', max_completion_tokens: 100 });
    expect(endpoint.asked[0]?.body['temperature']).toBeUndefined();
  });

  test('of which more was cached, or reasoned, than there is at all leaves these unknown', async () => {
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 4,
      prompt_tokens_details: { cached_tokens: 11 },
      completion_tokens_details: { reasoning_tokens: 5 },
    };
    const { call } = await scene([{ kind: 'reply', text: 'x', usage }]);
    expect((await call()).usage).toMatchObject({ cached_input_tokens: null, reasoning_tokens: null });
  });
});

test('a request without a temperature, tools or system leaves them out', () => {
  const settings = callSettings(request({ temperature: null, system: '' }), new AbortController().signal);
  expect(Object.keys(settings).sort()).toEqual(['abortSignal', 'maxOutputTokens', 'prompt']);
});
