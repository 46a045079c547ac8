import { FAULTS } from './faults.testkit.js';
import { SOUND } from './rules.testkit.js';
import { runSeed } from './simulation.testkit.js';

const args = process.argv.slice(2);
function option(name: string): string | undefined {
  const at = args.indexOf(`--${name}`);
  return at < 0 ? undefined : args[at + 1];
}

const faultName = option('fault');
const rules = faultName === undefined ? SOUND : FAULTS.find(({ name }) => name.includes(faultName));
if (rules === undefined) throw new Error(`no fault is named ${faultName}: ${FAULTS.map(({ name }) => name).join('; ')}`);
const single = option('seed');
const from = Number(single ?? option('from') ?? 0);
const count = single === undefined ? Number(option('seeds') ?? 2000) : 1;
const started = performance.now();
const found = new Map<string, number[]>();
for (let seed = from; seed < from + count; seed++) {
  const { violation } = runSeed(seed, { rules });
  if (violation !== null) {
    const seeds = found.get(violation.invariant) ?? [];
    found.set(violation.invariant, [...seeds, seed]);
    if (seeds.length === 0 || single !== undefined) console.log(`seed ${seed}: ${violation.error.stack}`);
  }
  if (single !== undefined) console.log(runSeed(seed, { rules, trace: true }).world.lines.join('\n'));
}
const seconds = (performance.now() - started) / 1000;
console.log(`${count} seeds in ${seconds.toFixed(1)} s (${(count / seconds).toFixed(0)}/s)`);
for (const [invariant, seeds] of found) console.log(`${invariant}: ${seeds.length} seeds, first ${seeds.slice(0, 5).join(' ')}`);
process.exitCode = found.size === 0 ? 0 : 1;
