import { onTestFinished } from 'vitest';
import type { Provider } from '#lib/contract';
import type { Clock } from './clock.js';
import { ProviderError } from './errors.js';
import { Gates, type GateLimits } from './gate.js';
import { openLive } from './live.js';
import type { CallOptions, ModelAnswer, ModelPort, ModelRequest } from './port.js';
import { defaultPolicy, type RetryPolicy } from './retry.js';
import type { LiveKind } from './sdk.js';
import { type ScriptedEndpoint, type Script, type Step, scriptedEndpoint } from './scripted-endpoint.testkit.js';

export const CANARY = 'sk-canary-4f1c9a7e2b8d6053';

export const fine: Step = { kind: 'reply', text: 'fine' };

export const raw = (status: number, body?: string, headers?: Record<string, string>): Step => ({
  kind: 'raw',
  status,
  ...(body === undefined ? {} : { body }),
  ...(headers === undefined ? {} : { headers }),
});

export function request(change: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model: 'test-model',
    temperature: 0,
    system: 'You answer.',
    messages: [{ role: 'user', text: 'What is it?' }],
    tools: [],
    max_output_tokens: 100,
    structured: null,
    ...change,
  };
}

export function options(change: Partial<CallOptions> = {}): CallOptions {
  return { signal: new AbortController().signal, deadlineMs: 60_000, ...change };
}

export function provider(kind: LiveKind, change: Partial<Provider> = {}): Provider & { kind: LiveKind } {
  const rest = {
    model: 'test-model',
    api_key_env: 'TEST_KEY',
    temperature: 0,
    file: null,
    record_from: null,
    price: null,
  };
  return { base_url: null, ...rest, ...change, kind };
}

/** Time that passes only by waiting: `sleep` takes none and moves the clock, and `waits` has what was slept. */
export function fakeClock(): Clock & { waits: number[] } {
  let time = 0;
  const waits: number[] = [];
  return {
    waits,
    now: () => time,
    wall: () => 1_700_000_000_000 + time,
    sleep: async (ms, signal) => {
      signal.throwIfAborted();
      waits.push(ms);
      time += ms;
      await Promise.resolve();
    },
  };
}

export type Scene = {
  endpoint: ScriptedEndpoint;
  port: ModelPort;
  clock: ReturnType<typeof fakeClock>;
  /** A call; retries wait on the fake clock and always draw half of the jitter. */
  call(change?: Partial<ModelRequest>, how?: Partial<CallOptions>): Promise<ModelAnswer>;
  fails(change?: Partial<ModelRequest>, how?: Partial<CallOptions>): Promise<ProviderError>;
};

export async function scene(
  script: Script,
  given: {
    kind?: LiveKind;
    policy?: Partial<RetryPolicy>;
    limits?: Partial<GateLimits>;
    url?: string;
    clock?: Clock;
  } = {},
): Promise<Scene> {
  const endpoint = await scriptedEndpoint(script);
  onTestFinished(() => endpoint.close());
  const clock = fakeClock();
  const time = given.clock ?? clock;
  const port = openLive(provider(given.kind ?? 'openai-compatible', { base_url: given.url ?? endpoint.url }), {
    env: { TEST_KEY: CANARY },
    clock: time,
    random: () => 0.5,
    policy: { ...defaultPolicy, ...given.policy },
    gates: new Gates({ maxConcurrent: 8, requestsPerMinute: null, ...given.limits }, time),
  });
  const call: Scene['call'] = (change, how) => port.call(request(change), options(how));
  return { endpoint, port, clock, call, fails: (change, how) => failureOf(call(change, how)) };
}

export async function failureOf(promise: Promise<unknown>): Promise<ProviderError> {
  const error = await promise.then(
    () => null,
    (cause: unknown) => cause,
  );
  if (!(error instanceof ProviderError)) throw new Error(`expected a ProviderError, got ${String(error)}`);
  return error;
}

/** All text of an error and its causes, stacks included. */
export function everythingIn(error: unknown): string {
  const parts: string[] = [];
  for (let at = error; at instanceof Error; at = at.cause) {
    parts.push(
      at.message,
      at.stack ?? '',
      JSON.stringify({ ...at }),
      JSON.stringify(Object.getOwnPropertyDescriptors(at)),
    );
  }
  return parts.join('\n');
}
