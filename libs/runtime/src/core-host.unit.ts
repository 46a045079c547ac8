import { expect, test } from 'vitest';
import type { CoreEffect, CoreEnv, CoreEvent } from '#lib/protocol';
import { CoreHost, type HostDeps } from './core-host.js';

type Effect = { readonly kind: 'act' };

/** A core that does something at every event, on a log that is read when the test says so. */
function hosted(stallMs: number) {
  let now = 1_000;
  const heard: string[] = [];
  const acted: number[] = [];
  const reads: (() => void)[] = [];
  const env = (): CoreEnv => ({ now, random128: () => '', below: () => 0 });
  const open = { view: {}, caughtUp: () => new Promise<void>((resolve) => reads.push(resolve)) } as HostDeps['open'];
  const deps: HostDeps = {
    open,
    env,
    stallMs,
    writer: {} as HostDeps['writer'],
    fatal: (error) => heard.push(`${error}`),
  };
  const core = {
    begin: (): Effect[] => [],
    step(event: CoreEvent): (Effect | CoreEffect)[] {
      heard.push(event.kind);
      return [{ kind: 'act' }];
    },
  };
  const host = new CoreHost<never, Effect>(core, deps, () => acted.push(now));
  return { host, heard, acted, reads, pass: (ms: number) => (now += ms) };
}

test('a process that was stopped for long reads the log before it goes on, and then hears everything in order', async () => {
  const { host, heard, acted, reads, pass } = hosted(500);
  host.post({ kind: 'changed' });
  pass(501);
  host.post({ kind: 'answered', answer: 'confirmed' });
  pass(1);
  host.post({ kind: 'changed' });
  expect(heard).toEqual(['changed']);
  expect(reads).toHaveLength(1);
  reads[0]?.();
  await Promise.resolve();
  expect(heard).toEqual(['changed', 'answered', 'changed']);
  expect(acted).toHaveLength(3);
});

test('one that hears often enough goes on at once, and one that was ended meanwhile does nothing', async () => {
  const { host, heard, reads, pass } = hosted(500);
  for (let i = 0; i < 3; i += 1) {
    pass(500);
    host.post({ kind: 'changed' });
  }
  expect(heard).toHaveLength(3);
  pass(501);
  host.post({ kind: 'changed' });
  host.stop();
  reads[0]?.();
  await Promise.resolve();
  expect(heard).toHaveLength(3);
});
