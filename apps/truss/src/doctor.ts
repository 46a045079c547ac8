import { existsSync, realpathSync, statfsSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { loadContract, unsupportedReason } from '#lib/contract';
import { isDriven } from '#lib/event-log';
import { openKeyStore, trustFile } from '#lib/key-store';
import type { Context } from './commands/context.js';
import { keysFolder, OPERATOR, openToRead } from './database.js';
import { EXIT, type ExitCode } from './exit-codes.js';
import { plural, table, whole } from './format.js';
import { filePlace } from './place.js';
import { SOFTWARE } from './software.js';

type Health = 'ok' | 'note' | 'bad';
interface Finding {
  readonly what: string;
  readonly health: Health;
  readonly says: string;
}

const MIB = 1024 * 1024;
const LITTLE_SPACE = 200 * MIB;
const EXAMPLE = fileURLToPath(new URL('examples/repair/contract.toml', import.meta.resolve('#package.json')));

/** `truss doctor`. */
export async function runDoctor({ db, terminal: { out } }: Context): Promise<ExitCode> {
  const findings = [
    nodeFinding(),
    sqliteFinding(),
    await databaseFinding(db),
    keysFinding(db),
    diskFinding(db),
    await exampleFinding(),
  ];
  const colours = { ok: 'green', note: 'yellow', bad: 'red' } as const;
  const rows = findings.map(({ health, what, says }) => [health, what, says]);
  const lines = table(rows, [], (cell, row, column) =>
    column === 0 ? out.paint(colours[findings[row]?.health ?? 'bad'], cell) : cell,
  );
  await out.write(`${lines.join('\n')}\n`);
  return findings.some(({ health }) => health === 'bad') ? EXIT.usage : EXIT.done;
}

function nodeFinding(): Finding {
  const cores = plural(availableParallelism(), 'core');
  return {
    what: 'node',
    health: 'ok',
    says: `truss ${SOFTWARE.truss} on Node ${SOFTWARE.node}, ${process.platform} ${process.arch}, ${cores}`,
  };
}

function sqliteFinding(): Finding {
  const db = new DatabaseSync(':memory:');
  try {
    return {
      what: 'sqlite',
      health: 'ok',
      says: `SQLite ${String(db.prepare('SELECT sqlite_version() AS v').get()?.['v'])}`,
    };
  } finally {
    db.close();
  }
}

async function databaseFinding(db: string): Promise<Finding> {
  const what = 'database';
  if (!existsSync(db)) return { what, health: 'note', says: `${db} does not exist yet: truss eval makes it` };
  try {
    const database = openToRead(db, filePlace(db));
    let evaluations = 0;
    for await (const _ of database.log.evaluations()) evaluations += 1;
    await database.close();
    const driver = isDriven(realpathSync(db)) ? 'another process drives it now' : 'no process drives it';
    const size = whole(Math.ceil(statSync(db).size / MIB));
    return { what, health: 'ok', says: `${db}: ${plural(evaluations, 'evaluation')}, ${size} MiB, ${driver}` };
  } catch (error) {
    return bad(what, error);
  }
}

function keysFinding(db: string): Finding {
  const what = 'keys';
  const folder = keysFolder(db);
  if (!existsSync(trustFile(folder)))
    return { what, health: 'note', says: `no keys in ${folder} yet: truss eval or truss keys init makes them` };
  try {
    const { trust } = openKeyStore(folder, OPERATOR);
    return {
      what,
      health: 'ok',
      says: `${plural(trust.keys.length, 'key')} in ${folder}, private ones readable by you alone`,
    };
  } catch (error) {
    return bad(what, error);
  }
}

function diskFinding(db: string): Finding {
  const what = 'disk';
  try {
    const { bavail, bsize } = statfsSync(dirname(resolve(db)));
    const free = bavail * bsize;
    const says = `${whole(Math.floor(free / MIB))} MiB free where ${db} lies`;
    return free < LITTLE_SPACE
      ? { what, health: 'bad', says: `${says}: free some before you run anything` }
      : { what, health: 'ok', says };
  } catch (error) {
    return bad(what, error);
  }
}

async function exampleFinding(): Promise<Finding> {
  const what = 'example';
  if (!existsSync(EXAMPLE)) return { what, health: 'note', says: 'the examples are not installed here' };
  try {
    const { contract } = await loadContract(EXAMPLE);
    const reason = unsupportedReason(contract);
    return reason === null
      ? { what, health: 'ok', says: `examples/repair can run (${contract.cases.length} cases)` }
      : { what, health: 'bad', says: reason };
  } catch (error) {
    return bad(what, error);
  }
}

function bad(what: string, error: unknown): Finding {
  return { what, health: 'bad', says: error instanceof Error ? error.message : String(error) };
}
