import { expect, test } from 'vitest';
import { isOnKafka, runSeed } from '../../libs/protocol/src/simulation/simulation.testkit.js';
import { verifyWorld } from '../../libs/protocol/src/simulation/verify.testkit.js';

const SEEDS = 2000;
const PARTS = 8;
/** Milliseconds: a machine that does much else at the same time is no failure. */
const PATIENCE = 300_000;
/** The offline verifier reads the ledgers of every so many seeds. */
const VERIFIED = 5;

for (let part = 0; part < PARTS; part++) {
  const from = (part * SEEDS) / PARTS;
  const to = from + SEEDS / PARTS;
  test(`seeds ${from} to ${to - 1}: crashes, zombies, two owners, copies, late sends, rebalances, repeats, cancels and wrong leases change no outcome`, {
    timeout: PATIENCE,
  }, async () => {
    for (let seed = from; seed < to; seed++) {
      const { violation, world } = runSeed(seed);
      expect(violation, `npm run simulate -- --seed ${seed}`).toBeNull();
      if (seed % VERIFIED === 0) expect(await verifyWorld(world), `npm run simulate -- --seed ${seed}`).toEqual([]);
    }
  });
}

test('about half of the seeds are worlds on Kafka', () => {
  const onKafka = Array.from({ length: SEEDS }, (_, seed) => seed).filter(isOnKafka).length;
  expect(onKafka).toBeGreaterThan(0.45 * SEEDS);
  expect(onKafka).toBeLessThan(0.55 * SEEDS);
});

test.each([
  ['on one log', false],
  ['on Kafka', true],
] as const)('a seed replays event for event: %s', (_, kafka) => {
  let seed = 17;
  while (isOnKafka(seed) !== kafka) seed++;
  const first = runSeed(seed, { trace: true }).world.lines;
  expect(first.length).toBeGreaterThan(100);
  expect(runSeed(seed, { trace: true }).world.lines).toEqual(first);
});
