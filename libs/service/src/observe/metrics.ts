import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { acceptedSchema, usageOf } from '#lib/evaluation';
import type { Entry } from '#lib/ledger';
import type { Observer } from './observer.js';

/** How far a process is behind, in records. */
export interface Lag {
  /** Not read yet, of the ledger. */
  readonly ledger: number;
  /** Not delivered yet, of the partitions that are this process's. */
  readonly consumers: readonly { readonly topic: string; readonly group: string; readonly lag: number }[];
}

export interface MetricsOptions {
  /** Asked at every scrape. */
  readonly lag?: () => Lag;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export interface Metrics {
  readonly observer: Observer;
  /** In Prometheus's text format. */
  text(): Promise<string>;
  readonly contentType: string;
  /** For what the log's adapter knows, once for all services of the process. */
  readonly counted: {
    deadLetter(topic: string, code: string): void;
    foreign(): void;
    superseded(): void;
    trouble(doing: string): void;
  };
}

/** What a service counts. `docs/operations.md` says what each is good for and what to do when it raises an alarm. */
export function createMetrics({ lag, now }: MetricsOptions): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
  const registers = [registry];
  const counter = <T extends string>(name: string, help: string, labelNames: readonly T[] = []) =>
    new Counter({ name, help, labelNames: [...labelNames], registers });

  const entries = counter('truss_entries_total', 'Ledger entries that this process wrote and read back', ['type']);
  const appends = new Histogram({
    name: 'truss_append_seconds',
    help: 'From an append to its answer',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers,
  });
  const lostAppends = counter('truss_lost_appends_total', 'Appends that lost their ledger to another writer');
  const runs = counter('truss_runs_total', 'Child runs that this process sealed', ['verdict']);
  const evaluations = counter('truss_evaluations_total', 'Evaluations that this process closed', ['outcome']);
  const spend = counter('truss_spend_nano_usd_total', 'Measured spend of the runs of this process, in 1e-9 USD');
  const unmeasured = counter('truss_unmeasured_calls_total', 'Calls of which nobody knows the spend');
  const superseded = counter('truss_superseded_records_total', 'Entries read that join no live chain');
  const foreign = counter('truss_foreign_records_total', 'Records read on the ledger that no trusted key signed');
  const deadLetters = counter('truss_dead_letters_total', 'Records that were refused', ['topic', 'code']);
  const troubles = counter('truss_troubles_total', 'Calls to the cluster that failed and are made again', ['doing']);
  const reports = counter('truss_reports_total', 'Reports that this process published', ['verdict']);
  const latency = new Histogram({
    name: 'truss_evaluation_seconds',
    help: 'From the acceptance of a request to its published report',
    buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 14_400, 86_400],
    registers,
  });
  const held = new Set<string>();
  new Gauge({
    name: 'truss_runs_in_flight',
    help: 'Child runs that this process has under way',
    registers,
    collect() {
      this.set(held.size);
    },
  });
  if (lag !== undefined) {
    new Gauge({
      name: 'truss_ledger_lag_records',
      help: 'Records of the ledger that this process has not read yet',
      registers,
      collect() {
        this.set(lag().ledger);
      },
    });
    new Gauge({
      name: 'truss_consumer_lag_records',
      help: 'Records that were not delivered yet, of the partitions of this process',
      labelNames: ['topic', 'group'],
      registers,
      collect() {
        this.reset();
        for (const { topic, group, lag: records } of lag().consumers) this.set({ topic, group }, records);
      },
    });
  }

  /** When the evaluations were accepted whose reports this process will publish. */
  const accepted = new Map<string, number>();
  const wrote = (entry: Entry): void => {
    entries.inc({ type: entry.type });
    const { cost_nano_usd: cost, unmeasured_calls: calls } = usageOf(entry);
    if (cost !== null && cost > 0) spend.inc(cost);
    if (calls > 0) unmeasured.inc(calls);
    if (entry.type === 'run_sealed') runs.inc({ verdict: entry.body.verdict });
    if (entry.type === 'eval_closed') evaluations.inc({ outcome: entry.body.outcome });
  };
  const observer: Observer = {
    taken(group, { topic, value }) {
      if (group !== 'projector' || topic !== 'eval.accepted') return;
      const record = acceptedSchema.safeParse(value);
      if (record.success && record.data.kind === 'eval') accepted.set(record.data.eval_run_id, record.data.accepted_at);
    },
    published(topic, key, value) {
      if (topic !== 'eval.report') return;
      const verdict = (value as { verdict?: unknown } | null)?.verdict;
      reports.inc({ verdict: typeof verdict === 'string' ? verdict : 'none' });
      const since = accepted.get(key);
      if (since !== undefined) latency.observe(Math.max(now() - since, 0) / 1000);
      accepted.delete(key);
    },
    appended({ entries: written, answer, ms }) {
      appends.observe(ms / 1000);
      if (answer === 'lost') lostAppends.inc();
      else for (const entry of written) wrote(entry);
    },
    read(entry, joining) {
      if (joining !== 'joined' || entry.type !== 'eval_closed') return;
      if (entry.body.outcome !== 'complete') accepted.delete(entry.eval);
    },
    held(run, is) {
      if (is) held.add(run);
      else held.delete(run);
    },
  };
  return {
    observer,
    text: () => registry.metrics(),
    contentType: registry.contentType,
    counted: {
      deadLetter: (topic, code) => deadLetters.inc({ topic, code }),
      foreign: () => foreign.inc(),
      superseded: () => superseded.inc(),
      trouble: (doing) => troubles.inc({ doing }),
    },
  };
}
