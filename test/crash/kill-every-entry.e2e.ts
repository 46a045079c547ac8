import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { openSqliteLog } from '#lib/event-log';
import { openEntry, openTrustStore, type OpenedEntry, trustStoreSchema } from '#lib/ledger';

const here = import.meta.dirname;
const root = mkdtempSync(join(tmpdir(), 'truss-crash-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

interface Outcome {
  readonly result: string;
  readonly findings: unknown[];
  readonly entries: number;
  readonly spend: Record<string, unknown>;
  readonly [field: string]: unknown;
}

/** A database of its own and a copy of the contract, whose programs leave a line for every time they were run. */
class Attempt {
  readonly folder = mkdtempSync(join(root, 'run-'));
  readonly db = join(this.folder, 'truss.db');

  constructor() {
    cpSync(join(here, 'contract'), join(this.folder, 'contract'), { recursive: true });
  }

  drive(killAfter?: number): Promise<{ signal: string | null; stdout: string; stderr: string }> {
    const args = [join(here, 'drive.mjs'), this.db, join(this.folder, 'contract', 'contract.toml')];
    if (killAfter !== undefined) args.push(String(killAfter));
    return new Promise((resolve) => {
      execFile(process.execPath, args, (error, stdout, stderr) => {
        resolve({
          signal: (error as (NodeJS.ErrnoException & { signal?: string }) | null)?.signal ?? null,
          stdout,
          stderr,
        });
      });
    });
  }

  async outcome(): Promise<Outcome> {
    const { stdout, stderr } = await this.drive();
    if (stdout === '') throw new Error(stderr);
    return JSON.parse(stdout);
  }

  effects(): string[] {
    try {
      return readFileSync(join(this.folder, 'contract', 'effects.log'), 'utf8')
        .trimEnd()
        .split('\n');
    } catch {
      return [];
    }
  }

  /** The entries that were confirmed before the kill. */
  async confirmed(): Promise<OpenedEntry[]> {
    const keys = openTrustStore(trustStoreSchema.parse(JSON.parse(readFileSync(`${this.db}.keys/trust.json`, 'utf8'))));
    const { log, close } = openSqliteLog({ file: this.db, keys, mode: 'read' });
    const entries: OpenedEntry[] = [];
    for await (const evaluation of log.evaluations()) {
      for await (const { record } of log.records(evaluation)) {
        const opened = openEntry(record, keys);
        if (opened.kind === 'entry') entries.push(opened.entry);
      }
    }
    await close();
    return entries;
  }
}

const count = (lines: readonly string[], line: string) => lines.filter((other) => other === line).length;
// What differs after a crash is what a crash costs: the parts of the spend that say so, and how many entries tell it.
const comparable = ({ spend: _spend, entries: _entries, ...rest }: Outcome) => rest;

/**
 * Slow on purpose: one real process, killed and started again, for every entry of the evaluation; about a second each.
 */
test('a process killed at any entry boundary goes on to the same verdicts, counts, lessons and usage, and does nothing confirmed twice', async () => {
  const calm = await new Attempt().outcome();
  expect(calm).toMatchObject({ result: 'valid', findings: [] });
  expect(calm.entries).toBeGreaterThan(60);

  const boundaries = Array.from({ length: calm.entries - 1 }, (_, i) => i + 1);
  let killed = 0;
  const worker = async () => {
    for (let at = boundaries.shift(); at !== undefined; at = boundaries.shift()) {
      if (await killAt(at, calm)) killed += 1;
    }
  };
  await Promise.all([worker(), worker()]);
  // An agent's events come in fewer or more entries, as the clock has it: an attempt may end a few before its boundary.
  expect(killed).toBeGreaterThan(calm.entries - 12);
}, 900_000);

/** False where the attempt ended before its boundary. */
async function killAt(boundary: number, calm: Outcome): Promise<boolean> {
  const attempt = new Attempt();
  const { signal, stdout, stderr } = await attempt.drive(boundary);
  if (stdout !== '') return false;
  const where = `killed after entry ${boundary}`;
  expect(signal, `${where}: ${stderr}`).toBe('SIGKILL');
  const before = attempt.effects();
  const confirmed = await attempt.confirmed();
  expect(confirmed, where).toHaveLength(boundary);

  expect(comparable(await attempt.outcome()), where).toEqual(comparable(calm));
  const after = attempt.effects();
  // The run's opaque token, under which its programs report, stands in its request.
  const tokens = new Map(
    confirmed.filter(({ type }) => type === 'child_requested').map(({ body }) => [body['child_run_id'], body['run']]),
  );
  for (const entry of confirmed) {
    const token = tokens.get(entry.ledger);
    const done =
      entry.type === 'answer_submitted'
        ? `agent ${token}`
        : entry.body['criterion'] === 'program'
          ? `check ${token}`
          : null;
    if (done !== null) expect(count(after, done), `${where}: ${done}`).toBe(count(before, done));
  }
  // Reviewers do not know whose answer they see. Each arm may have had one call in flight, whose program lives on for a moment.
  const reviews = after.filter((line) => line.startsWith('review ')).length;
  expect(reviews, where).toBeGreaterThanOrEqual(12);
  expect(reviews, where).toBeLessThanOrEqual(14);
  rmSync(attempt.folder, { recursive: true, force: true });
  return true;
}
