import { readdir, readFile, readlink } from 'node:fs/promises';

const ROUNDS = 3;

/**
 * Kills processes that left their group but still show that they belong to the folder `root`: it stands in the environment they
 * were started with, or they work below it. On Linux only (it reads /proc). Best effort: a process that left its group and shows
 * neither stays, and only a container would hold it.
 */
export async function killStragglers(root: string): Promise<void> {
  if (process.platform !== 'linux') return;
  for (let round = 0; round < ROUNDS; round += 1) {
    const found = await processesOf(root);
    for (const pid of found) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It ended by itself.
      }
    }
    if (found.length === 0) return;
  }
}

async function processesOf(root: string): Promise<number[]> {
  const pids = (await readdir('/proc').catch(() => [])).map(Number).filter((pid) => pid > 1 && pid !== process.pid);
  const mine = await Promise.all(
    pids.map(async (pid) => {
      const [environment, cwd] = await Promise.all([
        readFile(`/proc/${pid}/environ`, 'latin1').catch(() => ''),
        readlink(`/proc/${pid}/cwd`).catch(() => ''),
      ]);
      return environment.includes(`${root}/`) || cwd === root || cwd.startsWith(`${root}/`);
    }),
  );
  return pids.filter((_, at) => mine[at]);
}
