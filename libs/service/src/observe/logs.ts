import { type DestinationStream, type Logger, pino } from 'pino';
import type { Entry, LedgerId } from '#lib/ledger';
import type { Observer } from './observer.js';

export interface LogsOptions {
  readonly level: string;
  /** In every line. */
  readonly service: string;
  /** Values that no line may hold. */
  readonly secrets: readonly string[];
  /** Absent: standard output. */
  readonly destination?: DestinationStream;
}

/** JSON lines with the time in ISO 8601. Every secret is taken out of the line as it is written, wherever it stands. */
export function createLogger({ level, service, secrets, destination }: LogsOptions): Logger {
  const redact = redactor(secrets);
  return pino(
    {
      level,
      base: { service, pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: redact },
    },
    // Synchronous: what was logged last before a crash is what matters most.
    destination ?? pino.destination({ dest: 1, sync: true }),
  );
}

/** Shorter ones would be found in innocent text. */
const SHORTEST_SECRET = 6;

/** Takes the secrets out of a text, also where they stand in JSON. */
export function redactor(secrets: readonly string[]): (text: string) => string {
  const forms = secrets
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]);
  const all = [...new Set(forms)].toSorted((a, b) => b.length - a.length);
  return (text) => all.reduce((rest, secret) => rest.replaceAll(secret, '[redacted]'), text);
}

/** The values of variables whose names speak of secrets: such as the keys of model providers. */
export function secretsOf(env: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(env).flatMap(([name, value]) =>
    /(KEY|TOKEN|SECRET|PASSWORD)$/.test(name) && value !== undefined && value.trim() !== '' ? [value.trim()] : [],
  );
}

/** Lines for what happens to evaluations and runs, each with their ids. */
export function logObserver(logger: Logger): Observer {
  return {
    taken(group, { topic, partition, position, key, trace }) {
      logger.debug({ group, topic, partition, position, key, ...traceId(trace) }, 'record taken');
    },
    lost(group, topic, partitions) {
      logger.info({ group, topic, partitions }, 'partitions are assigned to another process');
    },
    published(topic, key, value, trace) {
      const { eval_run_id, verdict } = (value ?? {}) as { eval_run_id?: unknown; verdict?: unknown };
      if (topic === 'eval.accepted') logger.info({ eval_run_id, ...traceId(trace) }, 'request accepted');
      else if (topic === 'eval.report') logger.info({ eval_run_id, verdict, ...traceId(trace) }, 'report published');
      else logger.debug({ topic, key, ...traceId(trace) }, 'record published');
    },
    refused({ topic, partition, position, key, trace }, code, reason) {
      logger.warn({ topic, partition, position, key, code, reason, ...traceId(trace) }, 'record refused');
    },
    appended({ entries, answer, ms, trace }) {
      const [first] = entries;
      if (first === undefined) return;
      const ids = { ...idsOf(first.eval, first.ledger), ...traceId(trace) };
      const types = entries.map(({ type }) => type);
      if (answer === 'lost') {
        logger.warn({ ...ids, types }, 'append lost: another writer has the ledger');
        return;
      }
      logger.debug({ ...ids, types, ms: Math.round(ms * 10) / 10 }, 'entries written');
      for (const entry of entries) {
        const said = milestone(entry);
        if (said !== null) logger.info({ ...ids, ...said.facts }, said.message);
      }
    },
    read(entry, joining) {
      if (joining === 'superseded')
        logger.debug({ ...idsOf(entry.eval, entry.ledger), type: entry.type, seq: entry.seq }, 'superseded entry read');
    },
    foreign(evaluation, position, reason) {
      logger.warn({ eval_run_id: evaluation, position, reason }, 'foreign record on the ledger');
    },
  };
}

function idsOf(evaluation: string, ledger: LedgerId): { eval_run_id: string; child_run_id?: string } {
  return ledger === evaluation ? { eval_run_id: evaluation } : { eval_run_id: evaluation, child_run_id: ledger };
}

/** The 16 bytes of a `traceparent` (W3C Trace Context, section 3.2.2) that all spans of a trace share. */
function traceId(trace: string | undefined): { trace_id?: string } {
  const id = trace?.split('-')[1];
  return id === undefined ? {} : { trace_id: id };
}

function milestone(entry: Entry): { readonly message: string; readonly facts: object } | null {
  switch (entry.type) {
    case 'eval_started':
      return { message: 'evaluation started', facts: {} };
    case 'eval_closed':
      return { message: 'evaluation closed', facts: { outcome: entry.body.outcome, reason: entry.body.reason } };
    case 'run_started':
      return { message: 'run started', facts: {} };
    case 'run_sealed':
      return { message: 'run sealed', facts: { verdict: entry.body.verdict, entries: entry.body.entries } };
    case 'writer_changed':
      return { message: 'ledger taken over', facts: { reason: entry.body.reason } };
    case 'infrastructure_failed':
      return {
        message: 'a fault of the infrastructure',
        facts: { where: entry.body.where, code: entry.body.code, fault: entry.body.message },
      };
    default:
      return null;
  }
}
