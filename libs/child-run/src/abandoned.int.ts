import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { clearAbandoned, rootPrefix } from './abandoned.js';
import { isAlive, waitFor } from './child-run.testkit.js';

test('what a killed Truss left is ended and removed; what a living one uses, or nobody knows, stays', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kit-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const living = join(folder, `${await rootPrefix()}Ab1234`);
  const gone = spawnSync('true').pid;
  const abandoned = living.replace(`-${process.pid}-`, `-${gone}-`);
  const foreign = join(folder, `truss-1-${gone}-Ab1234`);
  for (const root of [living, abandoned, foreign]) await mkdir(join(root, '1', 'home'), { recursive: true });
  const agents = [living, abandoned].map((root) => {
    const agent = spawn('sleep', ['60'], {
      env: { PATH: process.env['PATH'], HOME: join(root, '1', 'home') },
      stdio: 'ignore',
    });
    onTestFinished(() => void agent.kill('SIGKILL'));
    return agent.pid ?? 0;
  });
  await clearAbandoned(folder);
  expect([living, abandoned, foreign].map((root) => existsSync(root))).toEqual([true, false, true]);
  expect(await waitFor(() => !isAlive(agents[1] ?? 0))).toBe(true);
  expect(isAlive(agents[0] ?? 0)).toBe(true);
});
