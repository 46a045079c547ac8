import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { logContract } from '../log-contract.testkit.js';
import { scriptedEndpoint, type ScriptedEndpoint } from '../../libs/providers/src/scripted-endpoint.testkit.js';

const root = mkdtempSync(join(tmpdir(), 'truss-crash-models-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Appends twice, which only comes out right where nothing that was confirmed is done again. */
function endpoint(): Promise<ScriptedEndpoint> {
  return scriptedEndpoint(({ body, text }) => {
    const shape = JSON.stringify(body['response_format'] ?? '');
    if (shape.includes('"vote"')) return { kind: 'reply', text: '{"vote":"approve","reason":"yes"}' };
    if (shape.includes('"lessons"')) {
      const lesson = { title: 'Append', when: 'A log is kept.', when_not: '', text: 'Append to the log.' };
      return { kind: 'reply', text: JSON.stringify({ lessons: [lesson] }) };
    }
    const word = ['one', ' two'][text.split('"role":"tool"').length - 1];
    if (word === undefined) return { kind: 'reply', text: 'Done.' };
    const command = `printf '${word}' >> log.txt`;
    return { kind: 'reply', tool_calls: [{ name: 'run_command', arguments: { command } }] };
  });
}

interface Outcome {
  readonly result: string;
  readonly findings: unknown[];
  readonly entries: number;
  readonly arms: { readonly counts: unknown; readonly usage: { readonly unmeasured_calls: number } }[];
  readonly spend: Record<string, unknown> & { readonly unmeasured_calls: number };
  readonly [field: string]: unknown;
}

/** A database, a contract and an endpoint of its own, which counts what was paid. */
class Attempt {
  readonly folder = mkdtempSync(join(root, 'run-'));
  private constructor(readonly endpoint: ScriptedEndpoint) {
    writeFileSync(join(this.folder, 'contract.toml'), logContract(endpoint.url));
  }

  static async begin(): Promise<Attempt> {
    return new Attempt(await endpoint());
  }

  drive(killAfter?: number): Promise<{ signal: string | null; stdout: string; stderr: string }> {
    const args = [
      join(import.meta.dirname, 'drive.mjs'),
      join(this.folder, 'truss.db'),
      join(this.folder, 'contract.toml'),
    ];
    if (killAfter !== undefined) args.push(String(killAfter));
    return new Promise((resolve) => {
      execFile(process.execPath, args, (error, stdout, stderr) => {
        resolve({ signal: (error as { signal?: string } | null)?.signal ?? null, stdout, stderr });
      });
    });
  }

  async outcome(): Promise<Outcome> {
    const { stdout, stderr } = await this.drive();
    if (stdout === '') throw new Error(stderr);
    return JSON.parse(stdout);
  }

  async end(): Promise<void> {
    await this.endpoint.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

// What differs after a crash is what it cost, and how many entries tell it.
function comparable({ spend: _spend, entries: _entries, arms, ...rest }: Outcome): unknown {
  return { ...rest, arms: arms.map(({ usage, ...arm }) => ({ ...arm, usage: { ...usage, unmeasured_calls: 0 } })) };
}

/** Slow on purpose, as `kill-every-entry`: one real process, killed and started again, for every entry. */
test('a process killed at any entry boundary pays for no model call twice but those in flight, and the report shows each of them as unmeasured', async () => {
  const first = await Attempt.begin();
  const calm = await first.outcome();
  expect(calm).toMatchObject({ result: 'valid', findings: [], spend: { unmeasured_calls: 0 } });
  // Two repeats of two arms: three calls of the agent, one of a reviewer, and in learning_on one that writes lessons.
  expect(first.endpoint.asked).toHaveLength(2 * 4 + 2 * 5);
  await first.end();

  const boundaries = Array.from({ length: calm.entries - 1 }, (_, i) => i + 1);
  const worker = async () => {
    for (let at = boundaries.shift(); at !== undefined; at = boundaries.shift()) await killAt(at, calm);
  };
  await Promise.all([worker(), worker()]);
}, 900_000);

async function killAt(boundary: number, calm: Outcome): Promise<void> {
  const where = `killed after entry ${boundary}`;
  const attempt = await Attempt.begin();
  const { signal, stderr } = await attempt.drive(boundary);
  expect(signal, `${where}: ${stderr}`).toBe('SIGKILL');
  const outcome = await attempt.outcome();
  expect(comparable(outcome), where).toEqual(comparable(calm));
  // Each of the two arms may have had one call in flight; a call that was not sent yet is unmeasured all the same, because nobody can know.
  const { unmeasured_calls: unmeasured } = outcome.spend;
  expect(unmeasured, where).toBeLessThanOrEqual(2);
  const paid = attempt.endpoint.asked.length - 18;
  expect(paid, where).toBeGreaterThanOrEqual(0);
  expect(paid, where).toBeLessThanOrEqual(unmeasured);
  await attempt.end();
}
