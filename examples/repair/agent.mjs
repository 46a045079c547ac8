// Repairs one module of the workspace by search: try an edit, run the tests, keep what makes fewer of them fail.
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { lessonOf, preferenceOf } from './agent/lessons.mjs';
import { candidates } from './agent/operators.mjs';
import { order, seeded } from './agent/search.mjs';
import { failingTests } from './agent/tests.mjs';

const { inputs, lessons, seed, budget } = JSON.parse(readFileSync(process.env.TRUSS_CONTEXT, 'utf8'));
const emit = (event) => appendFileSync(process.env.TRUSS_EVENTS, `${JSON.stringify(event)}\n`);

// One step stays unused, so that the agent ends by itself and leaves its best version behind.
let stepsLeft = (budget?.max_steps ?? Infinity) - 1;
const step = (name) => {
  stepsLeft -= 1;
  emit({ type: 'step', name });
};

emit({ type: 'usage', input_tokens: 0, output_tokens: 0, cost_usd: 0 });
step('run the tests');
const started = performance.now();
let best = { source: readFileSync(inputs.source, 'utf8'), failing: await failingTests(inputs.tests, 10_000) };
// An edit may loop for ever: a try gets eight times what the tests took at first, and at least 0.8 s.
const timeoutMs = Math.max(800, 8 * (performance.now() - started));

const random = seeded(seed);
const tried = new Set([best.source]);
const cited = new Set();
while (best.failing > 0 && stepsLeft > 0) {
  const better = await round(best);
  if (better === undefined) break;
  emit({
    type: 'note',
    text: `kept an edit in line ${better.line}: ${better.failing} tests fail, not ${best.failing}`,
  });
  best = better;
}
writeFileSync(inputs.source, best.source);
if (best.failing === 0 && best.operator !== undefined) emit({ type: 'lesson', ...lessonOf(best) });
if (best.failing > 0) emit({ type: 'note', text: `gave up: ${best.failing} of the tests still fail` });
process.exitCode = best.failing === 0 ? 0 : 1;

/** Tries the edits of one version until one passes all tests; else gives the one that helped most, if any helped. */
async function round(version) {
  let better;
  for (const candidate of plan(version)) {
    if (stepsLeft === 0) break;
    if (tried.has(candidate.source)) continue;
    tried.add(candidate.source);
    step(`${candidate.operator} in ${candidate.place}, line ${candidate.line}`);
    writeFileSync(inputs.source, candidate.source);
    const failing = await failingTests(inputs.tests, timeoutMs);
    if (failing < (better ?? version).failing) better = { ...candidate, failing };
    if (failing === 0) break;
  }
  return better;
}

function plan({ source }) {
  const all = candidates(source);
  const { preference, used } = preferenceOf(lessons ?? [], all);
  for (const id of used) if (!cited.has(id)) emit({ type: 'cited', lesson: id });
  for (const id of used) cited.add(id);
  return order(all, preference, random);
}
