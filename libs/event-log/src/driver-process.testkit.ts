import { drafts, keys, startedEvaluation } from './fixtures.testkit.js';
import { openSqliteLog } from './sqlite.js';

// Run by sqlite-processes.int.ts. `drive` appends until it is killed and prints the hash of every entry that was confirmed;
// `inbox` publishes one request and ends.
const [role, file = ''] = process.argv.slice(2);
if (role === 'inbox') {
  const { topics, close } = openSqliteLog({ file, keys, mode: 'read' });
  process.stdout.write(`${await topics.publish('eval.requested', 'from a process', { hello: 1 })}\n`);
  await close();
} else {
  const { log } = openSqliteLog({ file, keys, mode: 'drive' });
  const { child, opening, runStarted } = await startedEvaluation();
  for (const batch of [opening, [runStarted]]) {
    await log.append(batch);
    for (const { entry } of batch) process.stdout.write(`${entry.eval} ${entry.hash}\n`);
  }
  for (;;) {
    const note = await child.next(drafts.note());
    if ((await log.append([note])) !== 'confirmed') throw new Error('not confirmed');
    process.stdout.write(`${note.entry.eval} ${note.entry.hash}\n`);
  }
}
