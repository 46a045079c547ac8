import type { Action } from '#lib/child-run';
import type { AppendAnswer } from '#lib/event-log';
import { type EvaluationView, initialState, observe, evaluationOf, startedDraft, childAt } from '#lib/evaluation';
import {
  chainOf,
  type ChildRunId,
  type Draft,
  emptyChains,
  type Entry,
  type EvalRunId,
  fold as soundFold,
  genesisHash,
  headOf,
  type LedgerId,
  mayContinue,
  NO_SPEND,
  NO_SPENDING,
  refOf,
  sameWriter,
  signDraftSync,
} from '#lib/ledger';
import type { CoreEnv } from '../effects.js';
import type { OwnerCore, OwnerState } from '../owner.js';
import type { RunCore, RunEvent, RunState } from '../run.js';
import { type SimulatedKey, simulatedKey } from './keys.testkit.js';
import type { AnyEffect } from './process.testkit.js';
import { Violation } from './referee.testkit.js';
import type { Rules } from './rules.testkit.js';
import { contextOf, requestOf, SOFTWARE } from './scenario.testkit.js';
import type { Model } from './search.testkit.js';
import { actionName, isDone, simulateWork } from './work.testkit.js';

const SMALLEST = 0;
/** With this seed the agent reports no lesson and the criterion passes. */
const SEED = 2;
const request = requestOf(SMALLEST, 1_000_000_000_000);
const EVALUATION: EvalRunId = evaluationOf(request);
const ACCEPTED = { kind: 'eval', eval_run_id: EVALUATION, accepted_at: 0, from: 0, request } as const;
const CHILD: ChildRunId = childAt(EVALUATION, { contract: 0, replicate: 1, repeat: 1 }, 'off');
const TRUST_STORE = { sha256: '0'.repeat(64), size: 0 };
const AT = new Date(0).toISOString();
/** When a timer goes off it is this late; everything else happens at 0. */
const LATE = 1_000_000;
const LEASE = 3;

/** What is searched: which processes there are, and how much may go wrong. */
export interface Bounds {
  readonly executors: number;
  readonly owners: number;
  /** How often a process may try to become the writer. */
  readonly claims: number;
  readonly crashes: number;
  /** How many entries may land twice. */
  readonly copies: number;
  /** The evaluation is cancelled at any moment, or never. */
  readonly cancel: boolean;
  /** A batch lands whole and a reader reads all that stands: fewer orders, so that a larger case ends. */
  readonly coarse: boolean;
}

interface Member {
  readonly kind: 'run' | 'owner';
  readonly position: number;
  readonly claims: number;
  readonly incarnation: number;
  readonly core: RunState | OwnerState;
  readonly pending: { readonly entries: readonly Entry[]; readonly session: string } | null;
  readonly reading: number | null;
  readonly leasing: boolean;
  readonly acting: { readonly id: number; readonly action: Action } | null;
  readonly finished: boolean;
  readonly begun: boolean;
  /** It wanted to claim once more than the bounds allow. */
  readonly stopped: boolean;
}

interface Flight {
  readonly by: number;
  readonly incarnation: number;
  readonly entries: readonly Entry[];
}

export interface Small {
  readonly log: readonly Entry[];
  readonly flights: readonly Flight[];
  readonly members: readonly Member[];
  readonly crashes: number;
  readonly copies: number;
  readonly cancelled: boolean;
  /** Children that the stand-in for the executors may run. */
  readonly commanded: readonly ChildRunId[];
  /** Session and action of all that was started, and the displaced sessions that started something. */
  readonly started: readonly string[];
  readonly late: readonly string[];
}

const KEYS: readonly SimulatedKey[] = [1, 2].map((no) => simulatedKey('executor', `small x${no}`));
const OWNER_KEYS: readonly SimulatedKey[] = [1, 2].map((no) => simulatedKey('coordinator', `small c${no}`));

/** The processes of a small case with all that may happen to them, over the plan with one pair, one criterion and no agent. */
export function smallModel(bounds: Bounds, rules: Rules): Model<Small> {
  return new SmallModel(bounds, rules);
}

class SmallModel implements Model<Small> {
  readonly initial: Small;
  private readonly views = new Map<string, EvaluationView>();
  private readonly truths = new Map<string, EvaluationView>();
  private readonly ids = new Map<string, number>();
  private readonly base: number;

  constructor(
    private readonly bounds: Bounds,
    private readonly rules: Rules,
  ) {
    const log: Entry[] = [];
    if (bounds.owners === 0) {
      const writer = OWNER_KEYS[0] as SimulatedKey;
      const session = 'f'.repeat(32);
      log.push(
        sign(startedDraft(ACCEPTED, TRUST_STORE, SOFTWARE), EVALUATION, genesisHash(EVALUATION), 0, session, writer),
      );
      const body = { child_run_id: CHILD, case: null, seed: SEED, run: 'r', lessons: [] };
      log.push(sign({ type: 'child_requested', body }, EVALUATION, (log[0] as Entry).hash, 1, session, writer));
    }
    this.base = log.length;
    const { executors, owners, crashes, copies } = bounds;
    this.initial = {
      log,
      flights: [],
      members: [...Array<'run'>(executors).fill('run'), ...Array<'owner'>(owners).fill('owner')].map((kind) =>
        this.newMember(kind),
      ),
      crashes,
      copies,
      cancelled: false,
      commanded: [],
      started: [],
      late: [],
    };
  }

  private newMember(kind: Member['kind'], claims = 0, incarnation = 0): Member {
    const core = kind === 'run' ? this.runCore(0).state : this.ownerCore(0).state;
    return {
      kind,
      position: this.base,
      claims,
      incarnation,
      core,
      pending: null,
      reading: null,
      leasing: false,
      acting: null,
      finished: false,
      begun: false,
      stopped: false,
    };
  }

  private keyOf(i: number): SimulatedKey {
    const key = i < this.bounds.executors ? KEYS[i] : OWNER_KEYS[i - this.bounds.executors];
    if (key === undefined) throw new RangeError(`no member ${i}`);
    return key;
  }

  private runCore(i: number, state?: RunState): RunCore {
    const deps = {
      key: (KEYS[i] as SimulatedKey).id,
      leaseMs: LEASE,
      context: (view: EvaluationView) => contextOf(view, CHILD),
    };
    return state === undefined
      ? new this.rules.run(EVALUATION, CHILD, deps)
      : new this.rules.run(EVALUATION, CHILD, deps, state);
  }

  private ownerCore(i: number, state?: OwnerState): OwnerCore {
    const key = (OWNER_KEYS[i] as SimulatedKey).id;
    const deps = { accepted: ACCEPTED, key, trustStore: TRUST_STORE, software: SOFTWARE, leaseMs: LEASE, starting: [] };
    return state === undefined ? new this.rules.owner(EVALUATION, deps) : new this.rules.owner(EVALUATION, deps, state);
  }

  private idOf(entry: Entry): number {
    let id = this.ids.get(entry.hash);
    if (id === undefined) this.ids.set(entry.hash, (id = this.ids.size));
    return id;
  }

  private view(log: readonly Entry[], position: number): EvaluationView {
    return this.folded(this.views, log, position, (view, entry) => this.rules.fold(view.live, entry));
  }

  private truth(log: readonly Entry[]): EvaluationView {
    return this.folded(this.truths, log, log.length, (view, entry) => soundFold(view.live, entry));
  }

  private folded(
    memo: Map<string, EvaluationView>,
    log: readonly Entry[],
    to: number,
    fold: (view: EvaluationView, entry: Entry) => ReturnType<Rules['fold']>,
  ) {
    const entries = log.slice(0, to);
    const key = entries.map((entry) => this.idOf(entry)).join();
    let view = memo.get(key);
    if (view === undefined) {
      view = { live: emptyChains(EVALUATION), state: initialState(EVALUATION) };
      for (const entry of entries) observe(view.state, entry, fold(view, entry));
      memo.set(key, view);
    }
    return view;
  }

  key(state: Small): string {
    const ids = (entries: readonly Entry[]) => entries.map((entry) => this.idOf(entry)).join();
    const members = state.members.map((member) => [
      member.position,
      member.claims,
      member.incarnation,
      { ...member.core, ...('sent' in member.core ? { sent: [...member.core.sent] } : {}) },
      member.pending === null ? 0 : ids(member.pending.entries),
      member.reading,
      member.leasing,
      member.acting?.id,
      member.finished,
      member.begun,
    ]);
    const flights = state.flights.map(({ by, incarnation, entries }) => `${by}/${incarnation}/${ids(entries)}`).sort();
    return JSON.stringify([
      ids(state.log),
      flights,
      members,
      state.crashes,
      state.copies,
      state.cancelled,
      state.commanded,
      state.started,
      state.late,
    ]);
  }

  isCut({ members }: Small): boolean {
    return members.some(({ stopped }) => stopped);
  }

  isEnd(state: Small): boolean {
    if (
      state.flights.length > 0 ||
      state.members.some(({ finished, position }) => !finished || position < state.log.length)
    )
      return false;
    const { live, state: truth } = this.truth(state.log);
    if (this.bounds.owners === 0) {
      const child = truth.children.get(CHILD);
      if (live.closed !== null) return true;
      const chain = live.children.get(CHILD)?.chain;
      if (child?.sealed?.entries !== chain?.hashes.length || child?.sealed?.verdict !== 'pass')
        throw new Violation('outcome_differs', 'the run ended otherwise');
      return true;
    }
    const outcome = truth.closed?.body.outcome;
    const sealed = [...truth.children.values()].filter((child) => child.anchor !== null);
    const fits = sealed.every(({ id, anchor }) => {
      const chain = live.children.get(id)?.chain;
      return chain != null && anchor?.body.head_hash === headOf(chain) && anchor.body.entries === chain.hashes.length;
    });
    if (!fits) throw new Violation('anchor_mismatch', 'an anchor is not that of the live chain');
    if (outcome === 'complete' ? sealed.length !== 2 : outcome !== 'cancelled' || !state.cancelled) {
      throw new Violation('outcome_differs', `the evaluation ended ${outcome} with ${sealed.length} anchors`);
    }
    return true;
  }

  *next(state: Small): Iterable<readonly [string, Small]> {
    yield* this.landings(state);
    for (const [i, member] of state.members.entries()) {
      const name = `${member.kind} ${i}`;
      const backlog = state.log.length - member.position;
      if (backlog > 0 && !(this.bounds.coarse && backlog > 1)) yield [`${name} reads one`, this.read(state, i, 1)];
      if (backlog > 1) yield [`${name} reads all`, this.read(state, i, backlog)];
      if (member.finished) continue;
      if (!member.begun) yield [`${name} begins`, this.begun(state, i)];
      if (member.leasing) {
        const asked = this.with(state, i, { leasing: false });
        yield [`${name} gets the lease`, this.step(asked, i, { kind: 'leased', granted: true })];
        yield [`${name} gets no lease`, this.step(asked, i, { kind: 'leased', granted: false })];
      }
      if (member.acting !== null) yield [`${name} has done its work`, this.performed(state, i, member.acting)];
      const { phase } = member.core;
      if (phase === 'deferred' || phase === 'displaced')
        yield [`${name} wakes`, this.step(state, i, { kind: 'changed' }, LATE)];
      if (state.crashes > 0 && member.begun) yield [`${name} crashes`, this.crashed(state, i)];
    }
    if (this.bounds.cancel && !state.cancelled) yield ['cancel', this.cancelled(state)];
    for (const child of state.commanded) yield* this.ran(state, child);
  }

  private *landings(state: Small): Iterable<readonly [string, Small]> {
    for (const [at, flight] of state.flights.entries()) {
      const landed = flight.entries.slice(0, this.bounds.coarse ? undefined : 1);
      const rest = flight.entries.slice(landed.length);
      const [entry] = landed;
      if (entry === undefined) continue;
      const others = state.flights.filter((_, i) => i !== at);
      const flights = rest.length === 0 ? others : [...others, { ...flight, entries: rest }];
      const log = [...state.log, ...landed];
      yield [`${entry.type} of ${flight.by} lands`, { ...state, log, flights }];
      if (state.copies > 0)
        yield [`${entry.type} of ${flight.by} lands and will land again`, { ...state, log, copies: state.copies - 1 }];
      const gone = state.members[flight.by]?.incarnation !== flight.incarnation;
      if (gone) yield [`the sends of ${flight.by} before its crash are lost`, { ...state, flights: others }];
    }
  }

  private with(state: Small, i: number, change: Partial<Member>): Small {
    return { ...state, members: state.members.map((member, at) => (at === i ? { ...member, ...change } : member)) };
  }

  private read(state: Small, i: number, count: number): Small {
    const position = (state.members[i] as Member).position + count;
    let now = this.with(state, i, { position });
    const member = now.members[i] as Member;
    if (member.pending !== null) {
      const answer = this.answerTo(this.view(now.log, position), member.pending, i);
      if (answer !== null) now = this.step(this.with(now, i, { pending: null }), i, { kind: 'answered', answer });
    }
    const { reading } = now.members[i] as Member;
    if (reading !== null && reading <= position)
      now = this.step(this.with(now, i, { reading: null }), i, { kind: 'caught_up' });
    return this.step(now, i, { kind: 'changed' });
  }

  private answerTo({ live }: EvaluationView, pending: NonNullable<Member['pending']>, i: number): AppendAnswer | null {
    const last = pending.entries[pending.entries.length - 1] as Entry;
    const chain = chainOf(live, last.ledger);
    const next = pending.entries.find((entry) => chain?.hashes[entry.seq] !== entry.hash);
    if (next !== undefined) return this.rules.joins(live, next) ? null : 'lost';
    const ended = last.type === 'run_sealed' || last.type === 'eval_closed';
    return ended || mayContinue(live, last.ledger, { key: this.keyOf(i).id, session: pending.session })
      ? 'confirmed'
      : 'lost';
  }

  private begun(state: Small, i: number): Small {
    const { core, effects } = this.coreOf(state.members[i] as Member, i);
    const started = effects.begin();
    return this.apply(this.with(state, i, { core: core.state, begun: true }), i, started);
  }

  private coreOf(member: Member, i: number) {
    if (member.kind === 'run') {
      const old = member.core as RunState;
      const core = this.runCore(i, { ...old, queue: [...old.queue] });
      return {
        core,
        effects: {
          begin: () => core.begin(),
          step: (event: RunEvent, view: EvaluationView, env: CoreEnv) => core.step(event, view, env),
        },
      };
    }
    const old = member.core as OwnerState;
    const core = this.ownerCore(i - this.bounds.executors, { ...old, sent: new Set(old.sent) });
    const step = (event: RunEvent, view: EvaluationView, env: CoreEnv) =>
      event.kind === 'progress' || event.kind === 'performed' ? [] : core.step(event, view, env);
    return { core, effects: { begin: () => core.begin(), step } };
  }

  private step(state: Small, i: number, event: RunEvent, now = 0): Small {
    const member = state.members[i] as Member;
    if (member.finished || member.stopped || !member.begun) return state;
    const { core, effects } = this.coreOf(member, i);
    if (state.cancelled && 'cancel' in core) core.cancel('asked for');
    let { claims } = member;
    let stopped = false;
    const env: CoreEnv = {
      now,
      below: () => 0,
      random128: () => `${i}${claims}`.padStart(32, '0'),
    };
    const phase = core.state.phase;
    const wanted = effects.step(event, this.view(state.log, member.position), env);
    if (core.state.phase === 'claiming' && phase !== 'claiming') {
      claims++;
      stopped = claims > this.bounds.claims;
    }
    // Times are relative: what was set at the late moment is as if it had been set at 0.
    if (core.state.seen.at === now) core.state.seen = { ...core.state.seen, at: 0 };
    if ('retryAt' in core.state) core.state.retryAt = Math.min(core.state.retryAt, 1);
    const next = this.with(state, i, { core: core.state, claims, stopped });
    return stopped ? next : this.apply(next, i, wanted);
  }

  private apply(state: Small, i: number, effects: readonly AnyEffect[]): Small {
    let now = state;
    for (const effect of effects) now = this.effect(now, i, effect);
    return now;
  }

  private effect(state: Small, i: number, effect: AnyEffect): Small {
    const member = state.members[i] as Member;
    switch (effect.kind) {
      case 'read_to_end': {
        if (state.log.length > member.position) return this.with(state, i, { reading: state.log.length });
        return this.step(state, i, { kind: 'caught_up' });
      }
      case 'write':
        return this.written(state, i, effect.ledger, effect.session, effect.drafts);
      case 'lease':
        return member.core.phase === 'leasing' ? this.with(state, i, { leasing: true }) : state;
      case 'perform':
        return this.performing(state, i, effect);
      case 'abort':
        return this.with(state, i, { acting: null });
      case 'send':
        return this.commanded(state, i, effect.child);
      case 'finished':
        return this.finished(state, i);
      default:
        return state;
    }
  }

  private written(state: Small, i: number, ledger: LedgerId, session: string, drafts: readonly Draft[]): Small {
    const { live } = this.view(state.log, (state.members[i] as Member).position);
    const chain = chainOf(live, ledger);
    let prev =
      chain !== null
        ? headOf(chain)
        : ledger === EVALUATION
          ? genesisHash(EVALUATION)
          : live.children.get(CHILD)?.requested;
    if (prev === undefined) throw new Violation('core_threw', 'a ledger that nobody asked for');
    let seq = chain?.hashes.length ?? 0;
    const entries: Entry[] = [];
    for (const draft of drafts) {
      const entry = sign(draft, ledger, prev, seq++, session, this.keyOf(i));
      entries.push(entry);
      prev = entry.hash;
    }
    const { incarnation } = state.members[i] as Member;
    const flights = [...state.flights, { by: i, incarnation, entries }];
    return this.with({ ...state, flights }, i, { pending: { entries, session } });
  }

  private performing(state: Small, i: number, { id, action }: { readonly id: number; readonly action: Action }): Small {
    const member = state.members[i] as Member;
    const writer = { key: this.keyOf(i).id, session: member.core.session ?? '' };
    this.assertLive(state, i, CHILD);
    const truth = this.truth(state.log);
    const name = `${writer.session} ${actionName(action)}`;
    if (state.started.includes(name))
      throw new Violation('repeated_action', `${name} was started twice in one session`);
    let { late } = state;
    const chain = truth.live.children.get(CHILD)?.chain;
    if (chain != null && sameWriter(chain.writer, writer)) {
      const run = truth.state.children.get(CHILD)?.run;
      if (run != null && isDone(action, run)) throw new Violation('repeated_action', `${name} stands in the ledger`);
    } else if (late.includes(writer.session))
      throw new Violation('late_effects', `${name} is the second of a displaced writer`);
    else late = [...late, writer.session].sort();
    return this.with({ ...state, started: [...state.started, name].sort(), late }, i, { acting: { id, action } });
  }

  private performed(state: Small, i: number, { id, action }: NonNullable<Member['acting']>): Small {
    const view = this.view(state.log, (state.members[i] as Member).position);
    const drafts = simulateWork(action, view, contextOf(view, CHILD)).result;
    return this.step(this.with(state, i, { acting: null }), i, { kind: 'performed', id, drafts });
  }

  private commanded(state: Small, i: number, child: ChildRunId): Small {
    this.assertLive(state, i, EVALUATION);
    if (!this.truth(state.log).live.children.has(child))
      throw new Violation('unconfirmed_effect', `${child} was commanded and is not requested`);
    return state.commanded.includes(child) ? state : { ...state, commanded: [...state.commanded, child].sort() };
  }

  private assertLive(state: Small, i: number, ledger: LedgerId): void {
    const member = state.members[i] as Member;
    const view = this.view(state.log, member.position);
    if (!mayContinue(view.live, ledger, { key: this.keyOf(i).id, session: member.core.session ?? '' })) {
      throw new Violation('displaced_effect', `member ${i} has read of its end`);
    }
    const seen = chainOf(view.live, ledger);
    const chain = chainOf(this.truth(state.log).live, ledger);
    if (seen === null || chain?.hashes[seen.hashes.length - 1] !== headOf(seen))
      throw new Violation('unconfirmed_effect', `member ${i} acts off the live chain`);
  }

  private finished(state: Small, i: number): Small {
    const { live } = this.truth(state.log);
    const sealed = live.children.get(CHILD)?.sealed === true;
    const over = live.closed !== null || ((state.members[i] as Member).kind === 'run' && sealed);
    if (!over) throw new Violation('offset_past_unfinished', `member ${i} is finished and its work is not`);
    return this.with(state, i, { finished: true, leasing: false, acting: null });
  }

  private crashed(state: Small, i: number): Small {
    const { kind, claims, incarnation } = state.members[i] as Member;
    return this.with({ ...state, crashes: state.crashes - 1 }, i, this.newMember(kind, claims, incarnation + 1));
  }

  /** With owners a request to cancel reaches them all; without, it is the close of the evaluation that comes. */
  private cancelled(state: Small): Small {
    if (this.bounds.owners > 0) {
      let now: Small = { ...state, cancelled: true };
      for (const i of state.members.keys()) now = this.step(now, i, { kind: 'changed' });
      return now;
    }
    const body = { outcome: 'cancelled', anchors: 0, reason: 'asked for' } as const;
    const close = sign(
      { type: 'eval_closed', body },
      EVALUATION,
      (state.log[1] as Entry).hash,
      2,
      'f'.repeat(32),
      OWNER_KEYS[0] as SimulatedKey,
    );
    return { ...state, cancelled: true, log: [...state.log, close] };
  }

  /** The stand-in for an executor: a commanded child runs at any later moment, at once and whole. */
  private *ran(state: Small, child: ChildRunId): Iterable<readonly [string, Small]> {
    const { live } = this.truth(state.log);
    const requested = live.children.get(child);
    if (live.closed !== null || requested === undefined || requested.chain !== null) return;
    const key = KEYS[0] as SimulatedKey;
    const session = 'e'.repeat(32);
    const limits = {
      max_cost_nano_usd: null,
      max_steps: null,
      max_input_tokens: null,
      max_output_tokens: null,
      timeout_ms: null,
    };
    const request = refOf(
      sign(
        { type: 'child_requested', body: { child_run_id: child, case: null, seed: 0, run: '', lessons: [] } },
        EVALUATION,
        requested.requested,
        0,
        session,
        key,
      ),
    );
    const first = sign(
      {
        type: 'run_started',
        body: { request, contract_digest: requested.requested, budget: limits, executor: SOFTWARE },
      },
      child,
      requested.requested,
      0,
      session,
      key,
    );
    const body = {
      entries: 2,
      spend: NO_SPENDING,
      usage: NO_SPEND,
      interrupted: NO_SPEND,
      verdict: 'pass',
      verdict_ref: refOf(first),
    } as const;
    const last = sign({ type: 'run_sealed', body }, child, first.hash, 1, session, key);
    yield [`${child.slice(35)} runs`, { ...state, log: [...state.log, first, last] }];
  }
}

const signed = new Map<string, Entry>();

function sign(
  draft: Draft,
  ledger: LedgerId,
  prev: Entry['prev'],
  seq: number,
  session: string,
  key: SimulatedKey,
): Entry {
  const name = `${JSON.stringify(draft)} ${ledger} ${prev} ${seq} ${session} ${key.id}`;
  let entry = signed.get(name);
  if (entry === undefined) {
    const place = { eval: EVALUATION, ledger, prev, seq, session, at: AT };
    entry = signDraftSync(draft, place, { keyId: key.id, role: key.role, sign: (message) => key.sign(message) }).entry;
    signed.set(name, entry);
  }
  return entry;
}
