import { describe, expect, test } from 'vitest';
import { type Clock, systemClock } from './clock.js';
import { fine, raw, scene } from './model.testkit.js';
import { refusingUrl } from './scripted-endpoint.testkit.js';

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

test('a port that fetch refuses is one clear error, and not tried again', async () => {
  const { fails, clock } = await scene([], { url: 'http://127.0.0.1:6000/v1' });
  const error = await fails();
  expect(error).toMatchObject({ code: 'provider_refused', retriable: false, attempts: 1, unmeasuredAttempts: 0 });
  expect(error.message).toContain('serve on another port');
  expect(clock.waits).toEqual([]);
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
    const { call, fails, endpoint } = await scene([step, fine, step, step], { policy: { attemptTimeoutMs: 250 } });
    expect(await call()).toMatchObject({ text: 'fine', retries: 1, unmeasured_attempts: 1 });
    expect(await fails()).toMatchObject({ code: 'provider_timeout', attempts: 2, unmeasuredAttempts: 2 });
    expect(endpoint.asked).toHaveLength(4);
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
    const clock: Clock = {
      ...systemClock,
      sleep(ms, signal) {
        setTimeout(() => stop.abort(), 1);
        return systemClock.sleep(ms, signal);
      },
    };
    const { fails } = await scene([raw(429, '', { 'retry-after': '50' })], { clock });
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
    expect(await fails({}, { deadlineMs: 250 })).toMatchObject({
      code: 'provider_timeout',
      attempts: 1,
      unmeasuredAttempts: 1,
    });
  });
});

test('a call leaves no timer behind that would keep the process alive', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
  const { call, fails } = await scene([fine, raw(401), raw(500), fine]);
  await call();
  const before = timers();
  await call().catch(() => undefined);
  await call();
  await fails();
  expect(timers()).toBeLessThanOrEqual(before);
});

describe('the limits of a provider', () => {
  test('let a call that waits for its turn give up with the time of its run', async () => {
    const { call, fails, endpoint } = await scene([{ kind: 'hang' }], {
      limits: { maxConcurrent: 1 },
      clock: systemClock,
    });
    const stop = new AbortController();
    const first = call({}, { signal: stop.signal });
    const error = await fails({}, { deadlineMs: 50 });
    stop.abort();
    await expect(first).rejects.toThrow('stopped');
    expect(error).toMatchObject({ code: 'provider_gave_up', attempts: 0, unmeasuredAttempts: 0 });
    expect(endpoint.asked.length).toBeLessThanOrEqual(1);
  });

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
