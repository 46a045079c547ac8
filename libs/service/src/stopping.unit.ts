import { EventEmitter } from 'node:events';
import { expect, test, vi } from 'vitest';
import { createLogger } from './observe/logs.js';
import { stopInOrder } from './stopping.js';

function process(stop: () => Promise<void>, deadlineMs = 10_000) {
  const signals = new EventEmitter();
  const exit = vi.fn<(code: number) => void>();
  const faults: unknown[] = [];
  const logger = createLogger({ level: 'silent', service: 'test', secrets: [] });
  const began = (fault: unknown) => faults.push(fault);
  return { signals, exit, faults, stopping: stopInOrder({ stop, began, logger, deadlineMs, exit, signals }) };
}

test('the first signal stops in order, and the process ends with 0', async () => {
  const stop = vi.fn<() => Promise<void>>(async () => {});
  const { signals, exit, stopping, faults } = process(stop);
  signals.emit('SIGTERM', 'SIGTERM');
  expect(await stopping.ended).toBe(0);
  expect(stop).toHaveBeenCalledOnce();
  expect(faults).toEqual([null]);
  expect(exit).not.toHaveBeenCalled();
  expect(signals.listenerCount('SIGINT')).toBe(0);
});

test('a second signal ends the process at once', () => {
  const { signals, exit } = process(() => new Promise(() => {}));
  signals.emit('SIGINT', 'SIGINT');
  expect(exit).not.toHaveBeenCalled();
  signals.emit('SIGTERM', 'SIGTERM');
  expect(exit).toHaveBeenCalledExactlyOnceWith(1);
});

test('what is fatal stops in order too, with 1; an error while stopping is no other one', async () => {
  const { stopping, faults, exit } = process(async () => {});
  const fault = new Error('disk full');
  stopping.fatal(fault);
  stopping.fatal(new Error('closed'));
  expect(await stopping.ended).toBe(1);
  expect(faults).toEqual([fault]);
  expect(exit).not.toHaveBeenCalled();
});

test('what does not stop in time is ended', async () => {
  vi.useFakeTimers();
  try {
    const { signals, exit } = process(() => new Promise(() => {}), 10_000);
    signals.emit('SIGTERM', 'SIGTERM');
    await vi.advanceTimersByTimeAsync(9_999);
    expect(exit).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(exit).toHaveBeenCalledExactlyOnceWith(1);
  } finally {
    vi.useRealTimers();
  }
});
