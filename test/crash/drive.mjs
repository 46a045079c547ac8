// Drives the evaluation of a contract in a database, begins it or goes on with it, and kills its own process with SIGKILL
// right after the n-th entry that it appended was confirmed. usage: drive.mjs DB CONTRACT [N]
import { readFileSync } from 'node:fs';
import { openEmbedded } from '../../dist/apps/truss/src/embedded.js';
import { loadContract } from '../../dist/libs/contract/src/index.js';

const [, , db, file, killAfter] = process.argv;
let left = killAfter === undefined ? Number.POSITIVE_INFINITY : Number(killAfter);

/** One entry at a time, so that there is a boundary after each. */
function oneByOne(open) {
  let turn = Promise.resolve();
  const append = (entries) => {
    const answer = turn.then(() => each(entries));
    turn = answer.then(() => {});
    return answer;
  };
  const each = async (entries) => {
    for (const entry of entries) {
      if ((await open.log.append([entry])) === 'lost') return 'lost';
      left -= 1;
      if (left === 0) {
        process.kill(process.pid, 'SIGKILL');
        await new Promise(() => {});
      }
    }
    return 'confirmed';
  };
  return { ...open, log: { ...open.log, append } };
}

const fatal = (error) => {
  throw error;
};
const loaded = await loadContract(file);
const { primary, alpha, margin, min_units } = loaded.contract.evaluation;
const files = { directory: loaded.directory, workspace: loaded.workspaceDir };
const embedded = await openEmbedded({ db, fatal, wrap: oneByOne });
embedded.locate(loaded.digest, files);
const request = {
  kind: 'eval',
  requester: 'test',
  request_id: 'crash',
  contracts: [{ digest: loaded.digest, contract: loaded.contract }],
  repeats: 2,
  replicates: 1,
  seed: 11,
  concurrency: 1,
  starting_lessons: [],
  max_cost_nano_usd: null,
  deadline_ms: 3_600_000,
  statistics: { method_version: 1, primary, alpha, margin, min_units },
  files: [files],
};
// A repeated request is the same evaluation, so the same line begins it and goes on with it.
const id = await embedded.submit(request);
await embedded.start();
const view = await embedded.follow(id);
while (view.view.state.report === null) await new Promise((resolve) => setTimeout(resolve, 10));
const trust = JSON.parse(readFileSync(`${db}.keys/trust.json`, 'utf8'));
const records = [];
for await (const record of embedded.open.log.records(id)) records.push(record);
const { verifyEvaluation } = await import('../../dist/libs/verification/src/index.js');
const verified = await verifyEvaluation({
  evaluation: id,
  records,
  keys: trust,
  attachment: (sha256) => embedded.open.log.attachment(sha256),
});
const lessons = [...view.view.state.children.values()].map((child) => [
  child.arm,
  child.repeat,
  child.rendered.lessons,
  child.promoted.map(({ lesson }) => [lesson.title, lesson.text]),
]);
const report = view.view.state.report.body;
process.stdout.write(
  JSON.stringify({
    result: verified.result,
    findings: verified.findings.filter(({ severity }) => severity === 'error'),
    verdict: report.verdict,
    arms: report.arms.map(({ arm, counts, usage }) => ({ arm, counts, usage })),
    curve: report.curve,
    lessons: lessons.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
    spend: report.spend,
    entries: records.length,
  }),
);
await embedded.stop();
