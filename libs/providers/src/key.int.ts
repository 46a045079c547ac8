import { describe, expect, test } from 'vitest';
import { openLive } from './live.js';
import { CANARY, everythingIn, failureOf, fine, options, provider, raw, request, scene } from './model.testkit.js';
import type { Step } from './scripted-endpoint.testkit.js';

describe('the key', () => {
  const echo = (asked: { headers: { [name: string]: unknown } }) =>
    String(asked.headers['authorization'] ?? asked.headers['x-api-key']);

  test.for(['openai', 'anthropic', 'openai-compatible'] as const)(
    'of %s is in no error, whatever the provider echoes',
    async (kind) => {
      const steps: ((said: string) => Step)[] = [
        (said) => raw(401, JSON.stringify({ error: { message: `bad key ${said}` } })),
        (said) => raw(500, JSON.stringify({ error: { message: `bad key ${said}` } })),
        (said) => raw(200, JSON.stringify({ error: { message: `bad key ${said}` } })),
        (said) => raw(200, JSON.stringify({ choices: said, content: said })),
        (said) => raw(200, `{"bad key ${said}`),
        (said) => raw(302, '', { location: `http://h/${said}` }),
        () => ({ kind: 'reset' }),
        () => ({ kind: 'hang' }),
      ];
      for (const step of steps) {
        const { fails } = await scene((asked) => step(echo(asked)), {
          kind,
          policy: { maxAttempts: 2, attemptTimeoutMs: 40 },
        });
        const error = await fails({}, { deadlineMs: 300 });
        expect(everythingIn(error)).not.toContain(CANARY);
      }
    },
  );

  test('that a model says is redacted in its answer', async () => {
    const { call, endpoint } = await scene((asked) => ({
      kind: 'reply',
      text: `it is ${echo(asked)}`,
      tool_calls: [{ name: 'say', arguments: { [echo(asked)]: [echo(asked)] } }],
      usage: { said: echo(asked) },
      model: echo(asked),
    }));
    const answer = await call();
    expect(JSON.stringify(answer)).not.toContain(CANARY);
    expect(answer).toMatchObject({ text: 'it is Bearer [redacted TEST_KEY]', model: 'Bearer [redacted TEST_KEY]' });
    expect(echo(endpoint.asked[0]!)).toBe(`Bearer ${CANARY}`);
  });

  test('that is an everyday word changes no answer', async () => {
    const { endpoint } = await scene([{ kind: 'reply', text: 'none of them' }]);
    const port = openLive(provider('openai-compatible', { base_url: endpoint.url }), { env: { TEST_KEY: 'none' } });
    expect((await port.call(request(), options())).text).toBe('none of them');
  });

  test.for([[{}], [{ TEST_KEY: '' }], [{ TEST_KEY: ' \n' }], [{ TEST_KEY: 'sk 1\nx' }]] as const)(
    'that is missing or no key (%j) is asked for by name, before any call',
    async ([env]) => {
      const { endpoint } = await scene([fine]);
      const open = async () => openLive(provider('openai', { base_url: endpoint.url }), { env });
      const error = await failureOf(open());
      expect(error).toMatchObject({ code: 'provider_key_missing', attempts: 0, retriable: false });
      expect(error.message).toContain('TEST_KEY');
      expect(endpoint.asked).toHaveLength(0);
    },
  );

  test('comes from the named variable and no other; without a name none is sent', async () => {
    const { endpoint } = await scene([fine, fine]);
    process.env['OPENAI_API_KEY'] = CANARY;
    for (const kind of ['openai', 'openai-compatible'] as const) {
      const port = openLive(provider(kind, { base_url: endpoint.url, api_key_env: null }), { env: process.env });
      await port.call(request(), options());
    }
    delete process.env['OPENAI_API_KEY'];
    expect(endpoint.asked.map(({ headers }) => headers.authorization)).toEqual([undefined, undefined]);
  });
});
