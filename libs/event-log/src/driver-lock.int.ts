import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runSource } from './children.testkit.js';

test('one process at a time has the lock, even where each deletes its file before it gives it back', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'truss-lock-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const program = new URL('./driver-lock.testkit.ts', import.meta.url);
  const processes = [1, 2, 3].map(() => runSource(program, [join(folder, 'truss.db'), '1500']));
  const counts = await Promise.all(processes.map((one) => one.line()));
  for (const count of counts) expect(count).toMatch(/^[1-9]\d* 0$/);
});
