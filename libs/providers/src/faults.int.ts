import { describe, expect, test } from 'vitest';
import { systemClock } from './clock.js';
import { CANARY, everythingIn, failureOf, options, provider, request, scene } from './model.testkit.js';
import { openLive } from './live.js';
import { refusingUrl, type Step } from './scripted-endpoint.testkit.js';

const fine: Step = { kind: 'reply', text: 'fine' };
const raw = (status: number, body?: string, headers?: Record<string, string>): Step => ({
  kind: 'raw',
  status,
  ...(body === undefined ? {} : { body }),
  ...(headers === undefined ? {} : { headers }),
});
const chat = (choices: unknown) => JSON.stringify({ model: 'm', choices });

describe('an answer that is none is refused at once, as one that may have been charged:', () => {
  test.for([
    ['a web page with 200', raw(200, '<!doctype html><p>Sign in</p>', { 'content-type': 'text/html' }), 'a web page'],
    ['a web page that says it is JSON', raw(200, ' <html></html>'), 'a web page'],
    ['invalid JSON', raw(200, '{"choices": [{"mess'), 'invalid JSON'],
    ['JSON that is no object', raw(200, '[]'), 'no object'],
    ['JSON of another protocol', raw(200, '{"result": "x"}'), 'another shape'],
    ['an error with 200', raw(200, '{"error": {"message": "no such engine"}}'), '(no such engine)'],
    ['no choices', raw(200, chat([])), 'no choice'],
    ['a choice without a message', raw(200, chat([{}])), 'no choice'],
    ['an empty choice', raw(200, chat([{ message: { role: 'assistant' }, finish_reason: 'stop' }])), 'an empty choice'],
    ['5 MB', raw(200, chat([{ message: { content: 'x'.repeat(5e6) } }])), 'more than 4194304 bytes'],
  ] as const)('%s', async ([, step, says]) => {
    const { fails, endpoint } = await scene([step]);
    const error = await fails();
    expect(error).toMatchObject({ code: 'provider_bad_answer', retriable: false, attempts: 1, unmeasuredAttempts: 1 });
    expect(error.message).toContain(says);
    expect(endpoint.asked).toHaveLength(1);
  });

  test('an answer of Anthropic without content', async () => {
    const { fails } = await scene([raw(200, '{"type":"message","content":null}')], { kind: 'anthropic' });
    expect((await fails()).code).toBe('provider_bad_answer');
  });

  test('a redirect, which is not followed, because it would carry the key elsewhere', async () => {
    const elsewhere = await scene([fine]);
    const location = `${elsewhere.endpoint.url}/chat/completions`;
    const { fails } = await scene([raw(307, '', { location })]);
    expect(await fails()).toMatchObject({ code: 'provider_bad_answer', status: 307 });
    expect(elsewhere.endpoint.asked).toHaveLength(0);
  });
});

describe('a call is given up at once, with nothing to be gained from another:', () => {
  test.for([
    [400, 'provider_bad_request'],
    [401, 'provider_refused'],
    [403, 'provider_refused'],
    [404, 'provider_bad_request'],
    [422, 'provider_bad_request'],
  ] as const)('%i', async ([status, code]) => {
    const { fails, endpoint } = await scene([raw(status, '{"error": {"message": "so\\u0007\\nit is"}}')]);
    const error = await fails();
    expect(error).toMatchObject({ code, status, retriable: false, attempts: 1, unmeasuredAttempts: 0 });
    expect(error.message).toContain(`answered ${status} (so it is)`);
    expect(endpoint.asked).toHaveLength(1);
  });

  test('429 for a quota that is used up', async () => {
    const { fails } = await scene([raw(429, '{"error": {"code": "insufficient_quota", "message": "pay"}}')]);
    expect(await fails()).toMatchObject({ code: 'provider_refused', attempts: 1 });
  });
});

describe('a call is made again, after', () => {
  test.for([
    [500, 'provider_failed'],
    [502, 'provider_failed'],
    [503, 'provider_overloaded'],
    [529, 'provider_overloaded'],
    [429, 'provider_rate_limited'],
  ] as const)('%i', async ([status, code]) => {
    const { call, fails, clock } = await scene([
      raw(status, '<p>bad gateway</p>'),
      raw(status),
      fine,
      ...Array(6).fill(raw(status)),
    ]);
    expect(await call()).toMatchObject({ text: 'fine', retries: 2, unmeasured_attempts: 0 });
    expect(clock.waits).toEqual([250, 500]);
    expect(await fails()).toMatchObject({ code, status, retriable: true, attempts: 6, unmeasuredAttempts: 0 });
    expect(clock.waits.slice(2)).toEqual([250, 500, 1000, 2000, 4000]);
  });

  test('a reset, which may have been charged', async () => {
    const { call } = await scene([{ kind: 'reset' }, { kind: 'reset', midway: true }, fine]);
    expect(await call()).toMatchObject({ text: 'fine', retries: 2, unmeasured_attempts: 2 });
  });

  test('a refused connection, which cannot have been', async () => {
    const { fails, clock } = await scene([], { url: await refusingUrl(), policy: { maxAttempts: 3 } });
    const error = await fails();
    expect(error).toMatchObject({ code: 'provider_unreachable', attempts: 3, unmeasuredAttempts: 0, status: null });
    expect(error.message).toContain('ECONNREFUSED');
    expect(clock.waits).toHaveLength(2);
  });

  test.for([
    ['a hang', { kind: 'hang' }],
    ['a trickle', { kind: 'trickle', everyMs: 5 }],
  ] as const)('%s, but only once', async ([, step]) => {
    const { call, fails, endpoint } = await scene([step, fine, step, step], { policy: { attemptTimeoutMs: 60 } });
    expect(await call()).toMatchObject({ text: 'fine', retries: 1, unmeasured_attempts: 1 });
    expect(await fails()).toMatchObject({ code: 'provider_timeout', attempts: 2, unmeasuredAttempts: 2 });
    expect(endpoint.asked).toHaveLength(4);
  });
});

describe('Retry-After', () => {
  test('of a second is waited for, with the jitter on top', async () => {
    const { call, clock } = await scene([raw(429, '', { 'retry-after': '1' }), fine]);
    expect((await call()).retries).toBe(1);
    expect(clock.waits).toEqual([1250]);
  });

  test('of an hour is waited for by a run that has the time', async () => {
    const { call, clock } = await scene([raw(429, '', { 'retry-after': '3600' }), fine]);
    expect((await call({}, { deadlineMs: 86_400_000 })).text).toBe('fine');
    expect(clock.waits).toEqual([3_600_250]);
  });

  test('of an hour makes a run that has less give up at once, and says so', async () => {
    const { fails, clock } = await scene([raw(429, '', { 'retry-after': '3600' }), fine]);
    const error = await fails({}, { deadlineMs: 600_000 });
    expect(error).toMatchObject({ code: 'provider_gave_up', status: 429, retriable: false, attempts: 1 });
    expect(error.message).toContain('the next attempt would be in 3601 s, and the run has 600 s left');
    expect(error.cause).toMatchObject({ code: 'provider_rate_limited' });
    expect(clock.waits).toEqual([]);
  });

  test('as a date counts from the date of the answer, whatever the clock here says', async () => {
    const headers = { date: 'Tue, 01 Jan 2030 00:00:00 GMT', 'retry-after': 'Tue, 01 Jan 2030 00:01:30 GMT' };
    const { call, clock } = await scene([raw(503, '', headers), fine]);
    await call({}, { deadlineMs: 600_000 });
    expect(clock.waits).toEqual([90_250]);
  });

  test.for(['soon', '-5', '', '1.5'])('that makes no sense (%j) is as none', async (value) => {
    const { call, clock } = await scene([raw(429, '', { 'retry-after': value }), fine]);
    await call();
    expect(clock.waits).toEqual([250]);
  });

  test('to one call holds back all others of that provider', async () => {
    const { call, endpoint, clock } = await scene((_, index) =>
      index === 0 ? raw(429, '', { 'retry-after': '20' }) : fine,
    );
    const first = call();
    await expect.poll(() => endpoint.asked.length).toBe(1);
    await Promise.all([first, call({ system: 'another run' })]);
    expect(clock.now()).toBeGreaterThanOrEqual(20_000);
    expect(endpoint.asked).toHaveLength(3);
  });

  test('to one call refuses others that lack the time, without asking', async () => {
    const { fails, endpoint } = await scene([raw(429, '', { 'retry-after': '20' })]);
    await fails({}, { deadlineMs: 5000 });
    expect(await fails({}, { deadlineMs: 5000 })).toMatchObject({ code: 'provider_gave_up', attempts: 0 });
    expect(endpoint.asked).toHaveLength(1);
  });
});

describe('a call ends', () => {
  test('when its signal says so, during an attempt', async () => {
    const stop = new AbortController();
    const { fails } = await scene(() => {
      stop.abort();
      return { kind: 'hang' };
    });
    expect(await fails({}, { signal: stop.signal })).toMatchObject({
      code: 'provider_aborted',
      retriable: false,
      attempts: 1,
      unmeasuredAttempts: 1,
    });
  });

  test('when its signal says so, during a wait', async () => {
    const stop = new AbortController();
    const { fails } = await scene(
      () => {
        setTimeout(() => stop.abort(), 30);
        return raw(429, '', { 'retry-after': '50' });
      },
      { clock: systemClock },
    );
    expect(await fails({}, { signal: stop.signal })).toMatchObject({
      code: 'provider_aborted',
      attempts: 1,
      unmeasuredAttempts: 0,
    });
  });

  test('when its signal said so before, without a request', async () => {
    const { fails, endpoint } = await scene([fine]);
    expect(await fails({}, { signal: AbortSignal.abort() })).toMatchObject({ code: 'provider_aborted', attempts: 0 });
    expect(endpoint.asked).toHaveLength(0);
  });

  test('with the time of the run, whatever the time for an attempt', async () => {
    const { fails } = await scene([{ kind: 'trickle', everyMs: 5 }], { clock: systemClock });
    expect(await fails({}, { deadlineMs: 60 })).toMatchObject({
      code: 'provider_timeout',
      attempts: 1,
      unmeasuredAttempts: 1,
    });
  });
});

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

describe('the limits of a provider', () => {
  test('let no more calls through at once, and all of them in the end', async () => {
    const { call, endpoint } = await scene(
      async () => {
        await systemClock.sleep(10, new AbortController().signal);
        return fine;
      },
      { limits: { maxConcurrent: 2 } },
    );
    await Promise.all(Array.from({ length: 7 }, () => call()));
    expect(endpoint.asked).toHaveLength(7);
    expect(endpoint.load.most).toBe(2);
  });
});
