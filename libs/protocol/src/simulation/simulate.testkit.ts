import { parseArgs } from 'node:util';
import { FAULTS } from './faults.testkit.js';
import { SOUND } from './rules.testkit.js';
import { runSeed } from './simulation.testkit.js';
import { verifyWorld } from './verify.testkit.js';

const HELP = `npm run simulate -- [--seeds N] [--from N] [--fault WORDS] [--verify N]   many seeds; every Nth is verified offline too
npm run simulate -- --seed N [--fault WORDS]                            one seed, with all that happened in it`;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '2000' },
    from: { type: 'string', default: '0' },
    seed: { type: 'string' },
    fault: { type: 'string' },
    verify: { type: 'string', default: '10' },
    help: { type: 'boolean', default: false },
  },
});
const { fault } = values;
const rules = fault === undefined ? SOUND : FAULTS.find(({ name }) => name.includes(fault));
if (values.help) console.log(HELP);
else if (rules === undefined) {
  console.error(`No planted fault is named ${fault}. There are: ${FAULTS.map(({ name }) => name).join('; ')}.`);
  process.exitCode = 2;
} else if (values.seed === undefined) await many(Number(values.from), Number(values.seeds), Number(values.verify));
else await one(Number(values.seed));

async function many(from: number, count: number, verifyEvery: number): Promise<void> {
  const started = performance.now();
  const found = new Map<string, number[]>();
  for (let seed = from; seed < from + count; seed++) {
    if (seed > from && (seed - from) % 1000 === 0)
      console.error(`${seed - from} seeds, ${found.size} invariants broken`);
    const wrong = await brokenBy(seed, seed % verifyEvery === 0);
    if (wrong === null) continue;
    const seeds = found.get(wrong.invariant);
    if (seeds !== undefined) seeds.push(seed);
    else {
      found.set(wrong.invariant, [seed]);
      console.log(
        `seed ${seed}: ${wrong.message}\n  replay it: npm run simulate -- --seed ${seed}${fault === undefined ? '' : ` --fault "${fault}"`}`,
      );
    }
  }
  const seconds = (performance.now() - started) / 1000;
  console.log(
    `${count} seeds from ${from} in ${seconds.toFixed(1)} s (${(count / seconds).toFixed(0)}/s), ${found.size === 0 ? 'no invariant broken' : 'broken:'}`,
  );
  for (const [invariant, seeds] of found)
    console.log(`  ${invariant}: ${seeds.length} seeds, ${seeds.slice(0, 8).join(' ')}${seeds.length > 8 ? ' …' : ''}`);
  process.exitCode = found.size === 0 ? 0 : 1;
}

async function brokenBy(seed: number, verified: boolean): Promise<{ invariant: string; message: string } | null> {
  const { violation, world } = runSeed(seed, { rules: rules ?? SOUND });
  if (violation !== null || !verified) return violation;
  const wrong = await verifyWorld(world);
  return wrong.length === 0 ? null : { invariant: 'not_valid', message: `not_valid: ${wrong.join('; ')}` };
}

async function one(seed: number): Promise<void> {
  const { violation, world } = runSeed(seed, { rules: rules ?? SOUND, trace: true });
  console.log(world.lines.join('\n'));
  if (violation !== null) console.log(violation.error.stack);
  const wrong = violation === null ? await verifyWorld(world) : [];
  for (const line of wrong) console.log(line);
  process.exitCode = violation === null && wrong.length === 0 ? 0 : 1;
}
