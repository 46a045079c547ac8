import {
  addUsage,
  type AgentEvent,
  type Blob,
  type BodyOf,
  type Entry,
  type EntryHash,
  type Lesson,
  type LedgerRef,
  NO_SPEND,
  NO_SPENDING,
  refOf,
  type Spend,
  totalUsage,
  UNMEASURED,
  type Usage,
  type Verdict,
  type Vote,
} from '#lib/ledger';

export interface LessonState {
  readonly ref: LedgerRef;
  readonly lesson: Lesson;
  readonly checks: { ref: LedgerRef; gate: 'verdict' | 'checks'; check: string; passed: boolean; reason: string }[];
  readonly votes: { ref: LedgerRef; reviewer: string; vote: Vote }[];
  outcome: 'open' | 'promoted' | 'rejected';
}

export interface CriterionState {
  readonly ref: LedgerRef;
  readonly result: Verdict;
  readonly reason: string;
  readonly output: Blob;
}

export interface CallState {
  readonly started: BodyOf<'model_call_started'>;
  /** `abandoned`: its writer was displaced or died while it was under way, so nobody knows what it spent. */
  outcome: 'open' | 'abandoned' | { readonly ref: LedgerRef; readonly body: BodyOf<'model_call_completed'> };
  readonly tools: BodyOf<'tool_called'>[];
}

export interface ReviewState {
  readonly criterion: string;
  readonly reviewer: string;
  readonly vote: Vote;
  readonly reason: string;
}

export interface WorkspaceState {
  readonly ref: LedgerRef;
  readonly body: BodyOf<'workspace_changed'>;
}

/** What the entries of one child run say so far: the fold that running, resuming, anchoring and verifying share. */
export interface ChildState {
  started: boolean;
  entries: number;
  recalled: { ref: LedgerRef; body: BodyOf<'lessons_recalled'> } | null;
  /** What the agent reported in the attempt that is under way or that counted. */
  readonly events: AgentEvent[];
  /** Model calls in the order of their intents. */
  readonly calls: CallState[];
  readonly exhausted: BodyOf<'budget_exhausted'>[];
  broken: BodyOf<'infrastructure_failed'> | null;
  workspace: WorkspaceState | null;
  /** What a tool of a model agent changed, until the tool itself is recorded: else it is done again on the workspace as it was. */
  unsettled: WorkspaceState | null;
  answer: { ref: LedgerRef; body: BodyOf<'answer_submitted'> } | null;
  readonly criteria: Map<string, CriterionState>;
  /** Reviewers that were asked about a criterion, as `<criterion>\0<reviewer>`. */
  readonly delegated: Set<string>;
  readonly reviews: ReviewState[];
  verdict: { ref: LedgerRef; hash: EntryHash; verdict: Verdict; reason: string } | null;
  readonly lessons: LessonState[];
  /** What was measured, by who caused it. The agent's part counts from its last attempt. */
  spend: Spend;
  /** What attempts cut short by a crash had reported. */
  interrupted: Usage;
  /** When it started, by the clock of the executor that did: milliseconds since the epoch; 0 before. */
  startedAt: number;
  /** When the last entry was written, by the clock of its writer; 0 before. */
  lastAt: number;
  /** Milliseconds that the agent has worked, from its first call or its start to its last entry: the time between a crash and the resumption is not counted. */
  workedMs: number;
  /** After the verdict, no model could be asked to write lessons: the budget was spent, or something broke. */
  noExtraction: boolean;
  sealed: BodyOf<'run_sealed'> | null;
}

export function newChild(): ChildState {
  return {
    started: false,
    entries: 0,
    recalled: null,
    events: [],
    calls: [],
    exhausted: [],
    broken: null,
    workspace: null,
    unsettled: null,
    answer: null,
    criteria: new Map(),
    delegated: new Set(),
    reviews: [],
    verdict: null,
    lessons: [],
    spend: NO_SPENDING,
    interrupted: NO_SPEND,
    startedAt: 0,
    lastAt: 0,
    workedMs: 0,
    noExtraction: false,
    sealed: null,
  };
}

/** The sum of the usage that agent events report. An agent that reported none leaves it unknown: one unmeasured call. */
export function reportedUsage(events: readonly AgentEvent[]): Usage {
  let usage: Usage | null = null;
  let steps = 0;
  for (const event of events) {
    if (event.type === 'usage') usage = usage === null ? event.usage : addUsage(usage, event.usage);
    else if (event.type === 'step') steps += 1;
  }
  const measured = usage ?? UNMEASURED;
  return { ...measured, steps: measured.steps + steps };
}

/** What an entry says was spent, for entries that are off every chain. */
export function usageOf(entry: Entry): Usage {
  switch (entry.type) {
    case 'agent_reported': {
      const { events } = entry.body;
      const known = events.some((event) => event.type === 'usage' || event.type === 'started');
      return known
        ? reportedUsage(events)
        : { ...NO_SPEND, steps: events.filter((event) => event.type === 'step').length };
    }
    case 'criterion_checked':
    case 'review_returned':
    case 'lesson_reviewed':
    case 'model_call_completed':
      return entry.body.usage;
    default:
      return NO_SPEND;
  }
}

/** Takes the next entry of the live chain in, in place. */
export function evolveChild(child: ChildState, entry: Entry): void {
  child.entries += 1;
  passTime(child, entry);
  const ref = refOf(entry);
  switch (entry.type) {
    case 'run_started':
      child.started = true;
      child.startedAt = child.lastAt;
      return;
    case 'writer_changed':
      // A program that had not answered begins anew: what its last attempt reported was paid in vain.
      if (child.answer === null && child.broken === null && ranProgram(child)) interruptAttempt(child);
      abandonCall(child);
      child.unsettled = null;
      return;
    case 'lessons_recalled':
      child.recalled = { ref, body: entry.body };
      return;
    case 'agent_reported':
      // One by one: an attached body may hold more than a call takes arguments.
      for (const event of entry.body.events) child.events.push(event);
      return;
    case 'budget_exhausted':
      child.exhausted.push(entry.body);
      child.noExtraction = child.verdict !== null;
      return;
    case 'infrastructure_failed':
      child.noExtraction = child.verdict !== null;
      if (child.verdict !== null) return;
      child.broken = entry.body;
      // A program that was not even started has spent nothing, whatever its intent said.
      if (ranProgram(child) && (entry.body.where === 'answer' || child.events.some(({ type }) => type !== 'started'))) {
        child.spend = { ...child.spend, agent: reportedUsage(child.events) };
      }
      return;
    case 'workspace_changed':
      if (hasAgentCalls(child)) child.unsettled = { ref, body: entry.body };
      else child.workspace = { ref, body: entry.body };
      return;
    case 'answer_submitted':
      child.answer = { ref, body: entry.body };
      settleWorkspace(child);
      // The usage of a model agent is that of its calls, which are entries of their own.
      if (!hasAgentCalls(child)) {
        child.spend = { ...child.spend, agent: entry.body.usage };
      }
      return;
    case 'model_call_started':
      child.calls.push({ started: entry.body, outcome: 'open', tools: [] });
      return;
    case 'model_call_completed':
      complete(child, ref, entry.body);
      return;
    case 'tool_called':
      child.calls
        .find(({ started, outcome }) => started.call === entry.body.call && outcome !== 'abandoned')
        ?.tools.push(entry.body);
      settleWorkspace(child);
      return;
    case 'criterion_checked':
      child.criteria.set(entry.body.criterion, {
        ref,
        result: entry.body.result,
        reason: entry.body.reason,
        output: entry.body.output,
      });
      child.spend = { ...child.spend, tools: addUsage(child.spend.tools, entry.body.usage) };
      return;
    case 'review_delegated':
      child.delegated.add(delegation(entry.body.criterion, entry.body.reviewer));
      return;
    case 'review_returned':
      child.reviews.push(entry.body);
      child.spend = { ...child.spend, reviewers: addUsage(child.spend.reviewers, entry.body.usage) };
      return;
    case 'verdict':
      child.verdict = { ref, hash: entry.hash, verdict: entry.body.verdict, reason: entry.body.reason };
      return;
    case 'lesson_extracted':
      child.lessons.push({ ref, lesson: entry.body.lesson, checks: [], votes: [], outcome: 'open' });
      return;
    case 'lesson_checked':
      lessonOf(child, entry.body.lesson)?.checks.push({ ref, ...entry.body });
      return;
    case 'lesson_reviewed':
      lessonOf(child, entry.body.lesson)?.votes.push({ ref, reviewer: entry.body.reviewer, vote: entry.body.vote });
      child.spend = { ...child.spend, reviewers: addUsage(child.spend.reviewers, entry.body.usage) };
      return;
    case 'lesson_promoted':
      close(child, entry.body.lesson, 'promoted');
      return;
    case 'lesson_rejected':
      close(child, entry.body.lesson, 'rejected');
      return;
    case 'run_sealed':
      child.sealed = entry.body;
      return;
    default:
      return;
  }
}

export function delegation(criterion: string, reviewer: string): string {
  return `${criterion}\0${reviewer}`;
}

/** Whether the agent is a program that was to be started: a model reports nothing by events but what it cites. */
function ranProgram(child: ChildState): boolean {
  return child.events.some((event) => event.type !== 'cited') && !hasAgentCalls(child);
}

function hasAgentCalls(child: ChildState): boolean {
  return child.calls.some(({ started }) => started.purpose === 'agent');
}

function settleWorkspace(child: ChildState): void {
  child.workspace = child.unsettled ?? child.workspace;
  child.unsettled = null;
}

function passTime(child: ChildState, entry: Entry): void {
  const at = Date.parse(entry.at);
  const works = child.answer === null && child.broken === null && (hasAgentCalls(child) || ranProgram(child));
  // Nobody worked between the last entry of a writer and the next writer's first.
  if (works && entry.type !== 'writer_changed' && at > child.lastAt) child.workedMs += at - child.lastAt;
  child.lastAt = at;
}

function interruptAttempt(child: ChildState): void {
  child.interrupted = addUsage(child.interrupted, reportedUsage(child.events));
  child.events.length = 0;
  child.exhausted.length = 0;
  child.workspace = null;
}

function abandonCall(child: ChildState): void {
  const last = child.calls.at(-1);
  if (last?.outcome !== 'open') return;
  last.outcome = 'abandoned';
  child.interrupted = addUsage(child.interrupted, UNMEASURED);
}

const PART_OF = { agent: 'agent', review: 'reviewers', extraction: 'extraction' } as const;

function complete(child: ChildState, ref: LedgerRef, body: BodyOf<'model_call_completed'>): void {
  const call = child.calls.find(({ started, outcome }) => started.call === body.call && outcome === 'open');
  if (call === undefined) return;
  call.outcome = { ref, body };
  const part = PART_OF[call.started.purpose];
  child.spend = { ...child.spend, [part]: addUsage(child.spend[part], body.usage) };
}

function lessonOf(child: ChildState, ref: LedgerRef): LessonState | undefined {
  return child.lessons.find((lesson) => lesson.ref === ref);
}

function close(child: ChildState, ref: LedgerRef, outcome: 'promoted' | 'rejected'): void {
  const lesson = lessonOf(child, ref);
  if (lesson !== undefined) lesson.outcome = outcome;
}

/** Agent, tools, reviewers and extraction together. */
export function childUsage(child: ChildState): Usage {
  return totalUsage(child.spend);
}
