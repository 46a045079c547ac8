import { setTimeout as wait } from 'node:timers/promises';
import { acceptedSchema, type EvalAccepted } from '#lib/evaluation';
import type { EventLog, TopicRecord, Topics } from '#lib/event-log';
import { attachedBody, type EvalRunId, openEntryAsync, typedEntry } from '#lib/ledger';
import { RequestError } from './errors.js';
import type { TrustedKeys } from './requester-keys.js';
import { Turns } from './turns.js';

export interface QuotaLimits {
  /** Evaluations of one requester that are open at once. */
  readonly open: number;
  /** Nano-dollars that the evaluations of one requester may have spent in the last 24 hours; `null`: without limit. */
  readonly spendNanoUsdPerDay: number | null;
}
export const quotaDefaults: QuotaLimits = { open: 100, spendNanoUsdPerDay: 100_000_000_000 };

export interface QuotaOptions {
  readonly limits: QuotaLimits;
  readonly log: Pick<EventLog, 'records'>;
  readonly topics: Pick<Topics, 'list'>;
  readonly keys: TrustedKeys;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** How often an evaluation that nobody accepted yet is looked for, a second apart. */
  readonly looks?: number;
}

interface Known {
  readonly requester: string;
  readonly deadline: number;
  /** Whether a run of it can cost anything: a constant answer cannot. */
  readonly costs: boolean;
  closed: boolean;
  /** What its anchored runs spent and when; `null` before it was read. */
  spent: readonly Spent[] | null;
  readAt: number;
  /** It was read after it was closed: nothing more comes. */
  final: boolean;
}
interface Spent {
  readonly at: number;
  readonly nanoUsd: number;
}

const DAY_MS = 24 * 3_600_000;
/** What other intakes accepted is known by then; before a refusal it is looked up, at most so often. */
const STALE_MS = 30_000;
const LOOK_MS = 1_000;
/** Evaluations whose spend is read side by side: each may be a pass over its partition. */
const READ_AT_ONCE = 8;
/** The request of an evaluation that is to be cancelled may be on its way. */
const LOOKS = 3;

/**
 * What each requester has open and has spent, counted from the log: acceptances, `eval.index` and the signed anchors. Several intakes may
 * each let one more pass in the same moment.
 */
export class Quotas {
  readonly #known = new Map<EvalRunId, Known>();
  /** How far each topic was read: what was read once is not read again. */
  readonly #read = { 'eval.accepted': new Map<number, number>(), 'eval.index': new Map<number, number>() };
  readonly #turns = new Turns(READ_AT_ONCE);
  #lookedAt = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | null = null;

  constructor(private readonly options: QuotaOptions) {}

  /**
   * Whether one more may be accepted, and counts it. What was accepted before may always be asked for again.
   * @throws RequestError `quota_open`, `quota_spend`; whatever the log throws
   */
  async admit(accepted: EvalAccepted): Promise<void> {
    const id = accepted.eval_run_id as EvalRunId;
    if (this.#age() > STALE_MS) {
      // The first time there is nothing to judge by.
      if (this.#lookedAt === Number.NEGATIVE_INFINITY) await this.#look();
      else this.#look().catch(() => {});
    }
    if (this.#known.has(id)) return;
    let refusal = await this.#refusal(accepted.request.requester);
    if (refusal !== null && this.#age() > LOOK_MS) {
      await this.#look();
      if (this.#known.has(id)) return;
      refusal = await this.#refusal(accepted.request.requester);
    }
    if (refusal !== null) throw refusal;
    // What it will have spent is nothing yet.
    this.#add(accepted, []);
  }

  /** Who asked for an evaluation that was accepted; `null` for another, which is looked for first. @throws whatever the topics throw */
  async requesterOf(id: EvalRunId): Promise<string | null> {
    for (let look = 0; look < (this.options.looks ?? LOOKS) && !this.#known.has(id); look++) {
      if (look > 0) await wait(LOOK_MS);
      await this.#look();
    }
    return this.#known.get(id)?.requester ?? null;
  }

  async #refusal(requester: string): Promise<RequestError | null> {
    const { open, spendNanoUsdPerDay } = this.options.limits;
    const own = [...this.#known].filter(([, known]) => known.requester === requester);
    const now = this.options.now();
    const opened = own.filter(([, { closed, deadline }]) => !closed && deadline > now - DAY_MS).length;
    if (opened >= open) {
      return new RequestError(
        'quota_open',
        `${requester} has ${opened} open evaluations, and may have ${open}: wait until one has ended, or cancel one`,
      );
    }
    if (spendNanoUsdPerDay === null) return null;
    const counted = own.filter(([, { costs, deadline }]) => costs && deadline >= now - DAY_MS);
    const spends = await Promise.all(counted.map(([id, known]) => this.#spentBy(id, known)));
    const recent = spends.flat().filter(({ at }) => at > now - DAY_MS);
    const spent = recent.reduce((sum, { nanoUsd }) => sum + nanoUsd, 0);
    if (spent < spendNanoUsdPerDay) return null;
    return new RequestError(
      'quota_spend',
      `the evaluations of ${requester} spent ${usd(spent)} USD in the last 24 hours, and may spend ${usd(spendNanoUsdPerDay)}: ask again later`,
    );
  }

  /** No request waits for what is known: a little later the next one knows more. */
  async #spentBy(id: EvalRunId, known: Known): Promise<readonly Spent[]> {
    if (known.spent === null) await this.#readSpent(id, known);
    else if (!known.final && this.options.now() - known.readAt > STALE_MS) {
      known.readAt = this.options.now();
      this.#readSpent(id, known).catch(() => {});
    }
    return known.spent ?? [];
  }

  #readSpent(id: EvalRunId, known: Known): Promise<void> {
    return this.#turns.take(async () => {
      const { closed } = known;
      known.spent = await spentBy(id, this.options);
      known.readAt = this.options.now();
      known.final = closed;
    });
  }

  #age(): number {
    return this.options.now() - this.#lookedAt;
  }

  #look(): Promise<void> {
    this.#looking ??= this.#readOn().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async #readOn(): Promise<void> {
    const at = this.options.now();
    await this.#readAccepted();
    const early: string[] = [];
    for await (const { key, value } of this.#news('eval.index')) {
      const outcome = (value as { outcome?: unknown } | null)?.outcome ?? null;
      if (outcome !== null && !this.#close(key)) early.push(key);
    }
    // What ended was accepted before, though perhaps after it was looked up; what is still unknown is long over.
    if (early.length > 0) await this.#readAccepted();
    for (const key of early) this.#close(key);
    for (const [id, { deadline }] of this.#known) if (deadline < at - 2 * DAY_MS) this.#known.delete(id);
    this.#lookedAt = at;
  }

  async #readAccepted(): Promise<void> {
    for await (const { value } of this.#news('eval.accepted')) {
      const accepted = acceptedSchema.safeParse(value);
      if (accepted.success && accepted.data.kind === 'eval') this.#add(accepted.data);
    }
  }

  async *#news(topic: 'eval.accepted' | 'eval.index'): AsyncGenerator<TopicRecord> {
    const read = this.#read[topic];
    for await (const record of this.options.topics.list(topic, new Map(read))) {
      yield record;
      read.set(record.partition, record.position);
    }
  }

  #close(id: string): boolean {
    const known = this.#known.get(id as EvalRunId);
    if (known !== undefined) known.closed = true;
    return known !== undefined;
  }

  #add({ eval_run_id, accepted_at: acceptedAt, request }: EvalAccepted, spent: readonly Spent[] | null = null): void {
    const id = eval_run_id as EvalRunId;
    if (this.#known.has(id)) return;
    this.#known.set(id, {
      requester: request.requester,
      deadline: acceptedAt + request.deadline_ms,
      costs: request.contracts.some(({ contract }) => canCost(contract)),
      closed: false,
      spent,
      readAt: this.options.now(),
      final: false,
    });
  }
}

function canCost(contract: unknown): boolean {
  const { agent, panel } = contract as { agent?: { kind?: string }; panel?: unknown };
  return agent?.kind !== 'fixed' || (panel ?? null) !== null;
}

/** By the coordinators' signed anchors; what was superseded was paid for too. */
async function spentBy(id: EvalRunId, { log, keys }: QuotaOptions): Promise<Spent[]> {
  const spent = new Map<string, Spent>();
  for await (const { record } of log.records(id)) {
    if (!ANCHOR.test(new TextDecoder('latin1').decode(record.payload))) continue;
    const opened = await openEntryAsync(record, keys);
    if (opened.kind !== 'entry' || opened.entry.eval !== id || attachedBody(opened.entry) !== null) continue;
    const entry = typedEntry(opened.entry);
    if (entry.type !== 'child_anchor') continue;
    const { child_run_id, usage, superseded } = entry.body;
    const nanoUsd = (usage.cost_nano_usd ?? 0) + (superseded.usage.cost_nano_usd ?? 0);
    spent.set(child_run_id, { at: Date.parse(entry.at), nanoUsd });
  }
  return [...spent.values()];
}
const ANCHOR = /"type":"child_anchor","v":1\}$/;

function usd(nano: number): string {
  return (nano / 1e9).toFixed(2);
}
