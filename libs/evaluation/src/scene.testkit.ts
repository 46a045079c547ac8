import type { Contract } from '#lib/contract';
import { contractWith } from '../../contract/src/smallest.testkit.js';
import {
  type BodyOf,
  canonicalJson,
  chainOf,
  type ChildRunId,
  type Draft,
  emptyChains,
  type Entry,
  type EntryHash,
  fold,
  genesisHash,
  headOf,
  type Joining,
  type KeyId,
  type LedgerId,
  NO_SPEND,
  type PromptLayers,
  refOf,
  type Role,
  sha256Hex,
  utf8,
  type Usage,
  type Verdict,
} from '#lib/ledger';
import type { HeldLesson } from '#lib/lessons';
import { type EvalRequested, evaluationOf, startedDraft } from './request.js';
import { decide } from './decide.js';
import { REPORT_VERSION, type ReportVersion } from './report.js';
import { evolveChild, newChild, childUsage } from './child-state.js';
import { initialState, observe, type EvaluationView } from './state.js';

export function requestFor(contract: Contract, part: Partial<EvalRequested> = {}): EvalRequested {
  return {
    kind: 'eval',
    requester: 'tester',
    request_id: 'one',
    contracts: [{ digest: sha256Hex(utf8(canonicalJson(contract))) as EntryHash, contract: contract }],
    repeats: 2,
    replicates: 1,
    seed: 7,
    concurrency: 1,
    starting_lessons: [],
    max_cost_nano_usd: null,
    deadline_ms: 60_000,
    statistics: { method_version: 1, primary: 'pass_rate', alpha: 0.05, margin: 0.1, min_units: 6 },
    files: [],
    ...part,
  };
}

const START = Date.parse('2026-01-01T00:00:00.000Z');
const key = (role: Role) => sha256Hex(utf8(role)) as KeyId;
const session = (n: number) => n.toString(16).padStart(32, '0');

interface RunPart {
  readonly usage?: Usage;
  readonly lessons?: readonly HeldLesson['lesson'][];
  /** Of each call of its agent; `null` where none were recorded. */
  readonly prompts?: readonly (PromptLayers | null)[];
  /** What a program was told. */
  readonly context?: string;
}

/** Entries without signatures, folded as a log would fold them: for specifications of the pure cores. */
export class Scene {
  readonly view: EvaluationView;
  readonly entries: Entry[] = [];
  now = START;

  constructor(
    readonly request: EvalRequested,
    private readonly reportVersion: ReportVersion = REPORT_VERSION,
  ) {
    const evaluation = evaluationOf(request);
    this.view = { live: emptyChains(evaluation), state: initialState(evaluation) };
  }

  get evaluation() {
    return this.view.live.eval;
  }

  started(): this {
    const accepted = {
      kind: 'eval',
      eval_run_id: this.evaluation,
      accepted_at: START,
      from: 0,
      request: this.request,
    } as const;
    const draft = startedDraft(accepted, { sha256: 'a'.repeat(64), size: 1 }, { truss: '0', node: '0' });
    const { report_version: _, ...first } = draft.body;
    this.add(this.evaluation, this.reportVersion === 1 ? { ...draft, body: first } : draft);
    return this;
  }

  /** Adds the draft at the live head of its ledger, or where `at` says. */
  add(
    ledger: LedgerId,
    draft: Draft,
    at: { session?: number; prev?: EntryHash; seq?: number } = {},
  ): { entry: Entry; joining: Joining } {
    const role: Role =
      draft.type === 'eval_report' ? 'projector' : ledger === this.evaluation ? 'coordinator' : 'executor';
    const chain = chainOf(this.view.live, ledger);
    const origin =
      ledger === this.evaluation
        ? genesisHash(this.evaluation)
        : this.view.live.children.get(ledger as ChildRunId)?.requested;
    const header = {
      at: new Date(this.now).toISOString(),
      eval: this.evaluation,
      key: key(role),
      ledger,
      prev: at.prev ?? (chain === null ? (origin ?? genesisHash(this.evaluation)) : headOf(chain)),
      role,
      seq: at.seq ?? chain?.hashes.length ?? 0,
      session: session(at.session ?? 1),
    };
    const payload = utf8(canonicalJson({ ...header, type: draft.type, body: draft.body, v: 1 }));
    const entry = {
      ...header,
      ...draft,
      hash: sha256Hex(payload) as EntryHash,
      envelope: { payloadType: '', payload, keyid: key(role), signature: new Uint8Array(0) },
    } as Entry;
    const joining = fold(this.view.live, entry);
    observe(this.view.state, entry, joining);
    this.entries.push(entry);
    return { entry, joining };
  }

  addAll(ledger: LedgerId, drafts: readonly Draft[]): void {
    for (const draft of drafts) this.add(ledger, draft);
  }

  /** Runs a requested child to its seal: an agent with this usage, a verdict, and lessons that were promoted. */
  run(child: ChildRunId, verdict: Verdict, part: RunPart = {}): void {
    const record = this.view.state.children.get(child);
    if (record === undefined) throw new Error(`${child} was not requested`);
    const blob = { text: '' };
    const own = newChild();
    const put = (draft: Draft) => {
      const { entry } = this.add(child, draft);
      evolveChild(own, entry);
      return refOf(entry);
    };
    put({
      type: 'run_started',
      body: {
        request: record.request.ref,
        contract_digest: this.request.contracts[0]?.digest as EntryHash,
        budget: contractWith().budget,
        executor: { truss: '0', node: '0' },
      },
    });
    if (record.arm === 'on') {
      const used = record.request.body.lessons.map((lesson) => ({ lesson, tokens: 3 }));
      put({
        type: 'lessons_recalled',
        body: { used, refused: [], layer: blob, layer_digest: 'b'.repeat(64) as EntryHash },
      });
    }
    if (part.context !== undefined)
      put({ type: 'agent_reported', body: { events: [{ type: 'started', context: part.context }] } });
    part.prompts?.forEach((layers, i) => {
      put({ type: 'model_call_started', body: { ...callStarted(i + 1), ...(layers === null ? {} : { layers }) } });
      put({ type: 'model_call_completed', body: callCompleted(i + 1) });
    });
    const usage = part.usage ?? NO_SPEND;
    put({ type: 'answer_submitted', body: { ended: 'constant', exit_code: null, signal: null, output: blob, usage } });
    const criterion = put({
      type: 'criterion_checked',
      body: { criterion: 'right', result: verdict, reason: '', output: blob, usage: NO_SPEND },
    });
    const verdictRef = put({ type: 'verdict', body: { verdict, criteria: [criterion], reason: '' } });
    for (const lesson of part.lessons ?? []) {
      const ref = put({
        type: 'lesson_extracted',
        body: { lesson: { ...lesson, evidence: [verdictRef] }, digest: 'c'.repeat(64) },
      });
      put({ type: 'lesson_promoted', body: { lesson: ref, gates: ['verdict'], quorum: 0, checks: [], votes: [] } });
    }
    const { spend, interrupted } = own;
    put({
      type: 'run_sealed',
      body: { entries: own.entries + 1, spend, usage: childUsage(own), interrupted, verdict, verdict_ref: verdictRef },
    });
  }
}

/** A call of the agent, as it is begun and answered. */
export function callStarted(call: number): BodyOf<'model_call_started'> {
  return {
    call,
    purpose: 'agent',
    subject: null,
    reviewer: null,
    provider: 'main',
    model: 'm',
    prompt: { text: '' },
    prompt_digest: sha256Hex(utf8('')) as EntryHash,
    max_input_tokens: null,
    max_output_tokens: null,
    worst_case_nano_usd: null,
  };
}

export function callCompleted(call: number): BodyOf<'model_call_completed'> {
  return {
    call,
    outcome: 'answered',
    code: null,
    reason: '',
    answer: { text: '' },
    tool_calls: 0,
    finish: 'stop',
    model: null,
    retries: 0,
    usage: NO_SPEND,
    cached_input_tokens: null,
    reasoning_tokens: null,
    price_basis: '',
  };
}

export const LESSON: HeldLesson['lesson'] = {
  title: 'Carry',
  when: 'a column passes nine',
  when_not: '',
  text: 'Carry the one.',
  extractor: 'agent',
  evidence: [],
  criteria: ['right'],
  labelled_by: 'machine',
  model: null,
  prompt_digest: null,
  contract: 'sums',
  case: null,
  family: null,
  scope: 'sums',
  tokens: 4,
  trust: 'machine',
  supersedes: [],
};

type Outcome = { verdict: Verdict } & Pick<RunPart, 'usage' | 'prompts' | 'context'>;

/** Runs the whole plan: `of` says how each run ends. */
export function complete(scene: Scene, of: (arm: string, replicate: number, repeat: number) => Outcome): Scene {
  scene.started();
  for (let turn = 0; turn < 100; turn++) {
    const drafts = decide(scene.view, { now: scene.now, cancelled: null, starting: [], runToken: () => 'run' });
    scene.addAll(scene.evaluation, drafts);
    if (scene.view.state.closed !== null) return scene;
    for (const id of [...scene.view.state.open] as ChildRunId[]) {
      const record = scene.view.state.children.get(id);
      if (record === undefined || record.sealed !== null) continue;
      const { verdict, ...part } = of(record.arm, record.replicate, record.repeat);
      scene.run(id, verdict, { ...part, ...(record.arm === 'on' ? { lessons: [LESSON] } : {}) });
    }
  }
  throw new Error('the evaluation did not end');
}
