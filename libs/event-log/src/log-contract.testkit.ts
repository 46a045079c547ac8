import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LogUnderTest } from './contract.testkit.js';
import { describeAppend } from './contract-append.testkit.js';
import { describeFollow } from './contract-follow.testkit.js';
import { describeRecords } from './contract-records.testkit.js';
import { describeTopics } from './contract-topics.testkit.js';
import type { Leases } from './port.js';

/** What every adapter of the log must do. */
export function describeEventLog(name: string, make: () => Promise<LogUnderTest>): void {
  describe(`event log: ${name}`, () => {
    let made: LogUnderTest | null = null;
    beforeAll(async () => {
      made = await make();
    });
    afterAll(async () => {
      await made?.close();
    });
    const on = (): LogUnderTest => {
      if (made === null) throw new Error('the log was not made');
      return made;
    };
    describeAppend(on);
    describeRecords(on);
    describeFollow(on);
    describeTopics(on);
  });
}

export interface LeasesUnderTest {
  readonly leases: Leases;
  /** Lets this much of the leases' time go by. */
  elapse(ms: number): Promise<void>;
}

/** What every adapter of the leases must do. */
export function describeLeases(name: string, make: () => Promise<LeasesUnderTest>): void {
  describe(`leases: ${name}`, () => {
    test("a lease is one holder's until it runs out, and its holder may renew it", async () => {
      const { leases, elapse } = await make();
      expect(await leases.hold('child', 'a', 1_000, false)).toBe(true);
      expect(await leases.hold('child', 'b', 1_000, false)).toBe(false);
      expect(await leases.hold('another child', 'b', 1_000, false)).toBe(true);
      await elapse(800);
      expect(await leases.hold('child', 'a', 1_000, false)).toBe(true);
      await elapse(800);
      expect(await leases.hold('child', 'b', 1_000, false)).toBe(false);
      await elapse(300);
      expect(await leases.hold('child', 'b', 1_000, false)).toBe(true);
    });

    test('only its holder releases a lease', async () => {
      const { leases } = await make();
      await leases.hold('child', 'a', 1_000, false);
      await leases.release('child', 'b');
      expect(await leases.hold('child', 'b', 1_000, false)).toBe(false);
      await leases.release('child', 'a');
      expect(await leases.hold('child', 'b', 1_000, false)).toBe(true);
    });
  });
}
