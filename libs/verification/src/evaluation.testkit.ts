import { type Action, decideRun, type RunContext } from '#lib/child-run';
import { type Contract, contractSchema, renderCase } from '#lib/contract';
import {
  ARMS,
  buildReport,
  type ChildState,
  decide,
  type EvalAccepted,
  type EvaluationView,
  initialState,
  type LayeredPrompt,
  lessonBytesOf,
  observe,
  planContract,
  planOf,
  promptLayers,
  reportedUsage,
  startedDraft,
} from '#lib/evaluation';
import {
  type Blob,
  canonicalJson,
  chainOf,
  type ChildRunId,
  type Draft,
  emptyChains,
  type Entry,
  type EntryHash,
  type EvalRunId,
  evalRunId,
  fold,
  genesisHash,
  headOf,
  type LedgerId,
  type LedgerRef,
  keyId,
  NO_SPEND,
  publicKeyFromSeed,
  refOf,
  type Role,
  sha256,
  sha256Hex,
  type SignedEntry,
  sign,
  SigningKey,
  signDraft,
  type Signer,
  toHex,
  trustStoreBytes,
  type TrustStore,
  utf8,
} from '#lib/ledger';
import {
  buildLessonProof,
  formatBundle,
  type HeldLesson,
  type LessonProof,
  labelledBy,
  lessonDigest,
  lessonsFromAgent,
  renderLayer,
  runChecks,
} from '#lib/lessons';
import { contractWith, LEARNING } from '../../contract/src/smallest.testkit.js';
import { requestFor } from '../../evaluation/src/scene.testkit.js';

export type TestSigner = Signer & { readonly publicKey: Uint8Array };

export function signerOf(role: Role, name = 'one'): TestSigner {
  const seed = sha256(utf8(`verification ${role} ${name}`));
  const publicKey = publicKeyFromSeed(seed);
  const key = new SigningKey(seed);
  return { keyId: keyId(role, publicKey), role, publicKey, sign: async (message) => sign(key, message) };
}

export const coordinator = signerOf('coordinator');
export const executor = signerOf('executor');
export const projector = signerOf('projector');
export const SIGNERS: Readonly<Record<Role, TestSigner>> = {
  coordinator,
  executor,
  projector,
  requester: signerOf('requester'),
};

export function trustOf(...signers: TestSigner[]): TrustStore {
  return {
    version: 1,
    keys: signers.map((signer) => ({
      id: signer.keyId,
      role: signer.role,
      operator: signer.role,
      public_key: toHex(signer.publicKey),
      status: 'active',
      accepted_heads: [],
    })),
  };
}
export const trust = trustOf(coordinator, executor, projector, SIGNERS.requester);

export const CONTRACT: Contract = contractSchema.parse({
  ...contractWith(),
  instructions: 'Add {{inputs.a}}.',
  agent: { kind: 'command', command: ['agent'] },
  criteria: [
    { id: 'tests', kind: 'command', run: ['check'], timeout_ms: 1000 },
    { id: 'readable', kind: 'review', question: 'Is it readable?' },
  ],
  panel: { quorum: 2, reviewers: ['a', 'b', 'c'].map((name) => ({ name, command: ['review'], instructions: null })) },
  budget: { ...contractWith().budget, max_steps: 40, timeout_ms: 1000 },
  learning: { ...LEARNING, gates: ['verdict', 'checks', 'panel'] },
  cases: ['one', 'two', 'three'].map((id) => ({
    id,
    family: 'f',
    inputs: { a: id },
    expected: { label: `${id}-label` },
  })),
});

/** What the world answers in a scripted run. */
export interface Script {
  /** Result of the criterion `tests`. */
  readonly passes?: (child: ChildRunId) => boolean;
  readonly approves?: (child: ChildRunId, reviewer: string) => boolean;
  readonly contract?: Partial<Contract>;
  readonly repeats?: number;
  readonly replicates?: number;
  readonly starting?: readonly LessonProof[];
  readonly startingHeld?: readonly HeldLesson[];
  /** Stops the log after so many entries. */
  readonly cancelAfter?: number;
  readonly operator?: string;
  readonly seed?: number;
  /** What every agent notes. */
  readonly note?: string;
  /** What every agent prints, kept outside its entry. */
  readonly output?: string;
  /** What a model agent is asked, in the place of what it would be. */
  readonly prompt?: (child: ChildRunId, prompt: ScriptedPrompt) => ScriptedPrompt;
  /** Keeps prompts outside their entries. */
  readonly longPrompts?: boolean;
  /** Offered lessons that every run refuses. */
  readonly refuses?: (ref: LedgerRef) => boolean;
  /** Bytes to pin as the trust store, in place of the right ones. */
  readonly pinned?: Uint8Array;
  /** Called before each child entry: take-overs and the like go in here. */
  readonly disturb?: (log: ScriptedLog, ledger: LedgerId) => Promise<void>;
}

/** A log in memory: what was signed, in log order, and the live chains over it. */
export class ScriptedLog {
  readonly entries: Entry[] = [];
  readonly attachments = new Map<string, Uint8Array>();
  readonly view: EvaluationView;
  #clock = Date.parse('2026-12-01T10:00:00.000Z');
  #sessions = 0;
  readonly #session = new Map<LedgerId, string>();

  constructor(readonly evaluation: EvalRunId) {
    this.view = { live: emptyChains(evaluation), state: initialState(evaluation) };
  }

  get now(): number {
    return this.#clock;
  }

  newSession(): string {
    this.#sessions += 1;
    return toHex(sha256(utf8(`${this.evaluation} ${this.#sessions}`))).slice(0, 32);
  }

  session(ledger: LedgerId): string {
    const known = this.#session.get(ledger) ?? this.newSession();
    this.#session.set(ledger, known);
    return known;
  }

  /** Appends at the live head as the current writer. */
  async append(ledger: LedgerId, draft: Draft, signer: Signer, session = this.session(ledger)): Promise<Entry> {
    const chain = chainOf(this.view.live, ledger);
    const origin =
      ledger === this.evaluation
        ? genesisHash(this.evaluation)
        : (this.view.live.children.get(ledger as ChildRunId)?.requested as EntryHash);
    return this.appendAt(
      ledger,
      draft,
      signer,
      session,
      chain?.hashes.length ?? 0,
      chain === null ? origin : headOf(chain),
    );
  }

  async appendAt(
    ledger: LedgerId,
    draft: Draft,
    signer: Signer,
    session: string,
    seq: number,
    prev: EntryHash,
  ): Promise<Entry> {
    this.#clock += 7;
    const at = new Date(this.#clock).toISOString();
    const { entry, attachment } = await signDraft(
      draft,
      { eval: this.evaluation, ledger, prev, seq, session, at },
      signer,
    );
    if (attachment !== null) this.attachments.set(attachment.ref.sha256, attachment.bytes);
    observe(this.view.state, entry, fold(this.view.live, entry));
    this.entries.push(entry);
    return entry;
  }

  /** A new session of the same key takes the ledger over. */
  async takeOver(ledger: LedgerId, signer: Signer): Promise<string> {
    const chain = chainOf(this.view.live, ledger);
    if (chain === null) throw new Error('nothing to take over');
    const session = this.newSession();
    await this.append(
      ledger,
      { type: 'writer_changed', body: { displaced: chain.writer, reason: 'test' } },
      signer,
      session,
    );
    this.#session.set(ledger, session);
    return session;
  }
}

export interface Evaluated {
  readonly evaluation: EvalRunId;
  readonly entries: readonly Entry[];
  readonly attachments: ReadonlyMap<string, Uint8Array>;
  readonly log: ScriptedLog;
  readonly trust: TrustStore;
}

/** A whole evaluation by the real deciders: only what programs would answer is scripted. */
export async function evaluate(script: Script = {}): Promise<Evaluated> {
  const contract: Contract = { ...CONTRACT, ...script.contract };
  const evaluation = evalRunId('tests', `request ${script.seed ?? 1}`);
  const log = new ScriptedLog(evaluation);
  const starting = (script.starting ?? []).map((proof) => {
    const bytes = utf8(formatBundle([proof]));
    log.attachments.set(sha256Hex(bytes), bytes);
    return { lesson: proof.lesson, proof: { sha256: sha256Hex(bytes), size: bytes.length } };
  });
  const pinned = script.pinned ?? trustStoreBytes(trust);
  log.attachments.set(sha256Hex(pinned), pinned);
  const accepted: EvalAccepted = {
    kind: 'eval',
    eval_run_id: evaluation,
    accepted_at: log.now,
    from: 0,
    request: requestFor(contract, {
      requester: 'tests',
      request_id: `request ${script.seed ?? 1}`,
      replicates: script.replicates ?? 2,
      ...(script.repeats === undefined ? {} : { repeats: script.repeats }),
      seed: script.seed ?? 1,
      concurrency: 2,
      starting_lessons: starting,
      deadline_ms: 3_600_000,
    }),
  };
  const store = { sha256: sha256Hex(pinned), size: pinned.length };
  await log.append(evaluation, startedDraft(accepted, store, { truss: '0.1.0', node: '24' }), coordinator);
  for (;;) {
    const cancelled = script.cancelAfter !== undefined && log.entries.length >= script.cancelAfter ? 'enough' : null;
    const drafts = decide(log.view, {
      now: log.now,
      cancelled,
      starting: script.startingHeld ?? [],
      runToken: () => log.newSession(),
    });
    for (const draft of drafts) await log.append(evaluation, draft, coordinator);
    if (log.view.state.closed !== null) break;
    for (const child of [...log.view.state.open]) await runOne(log, child, script);
  }
  const { closed } = log.view.state;
  if (closed?.body.outcome === 'complete') {
    await log.append(
      evaluation,
      { type: 'eval_report', body: buildReport(log.view.state) },
      projector,
      log.newSession(),
    );
  }
  return { evaluation, entries: log.entries, attachments: log.attachments, log, trust };
}

async function runOne(log: ScriptedLog, child: ChildRunId, script: Script): Promise<void> {
  let extracted = false;
  for (;;) {
    const record = log.view.state.children.get(child);
    const state = record?.run;
    if (record == null || state == null) throw new Error(`no run ${child}`);
    const plan = planOf(log.view.state);
    const contract = planContract(plan, record.contract);
    const row = contract.cases.find(({ id }) => id === record.request.body.case) ?? null;
    const context: RunContext = {
      child,
      request: { ref: record.request.ref, body: record.request.body },
      arm: plan.arms.find(({ name }) => name === record.arm) ?? (ARMS[0] as never),
      contract,
      contractDigest: plan.contracts[record.contract]?.digest ?? '',
      rendered: renderCase(contract, row),
      case: row,
      otherCases: contract.cases.filter((one) => one !== row),
      software: { truss: '0.1.0', node: '24' },
    };
    const step = decideRun(state, context, extracted);
    if (step.kind === 'sealed') return;
    const drafts = step.kind === 'record' ? step.drafts : perform(log, step.action, context, state, script);
    if (step.kind === 'act' && step.action.kind === 'extract') extracted = true;
    const session = log.session(child);
    for (const draft of drafts) {
      await log.append(child, draft, executor);
      await script.disturb?.(log, child);
      // Whoever took over goes on from what the ledger says, and not with what the other had in hand.
      if (log.session(child) === session) continue;
      extracted = false;
      break;
    }
  }
}

type ScriptedPrompt = LayeredPrompt & { readonly model: string };

function askedModel(log: ScriptedLog, run: RunContext, state: ChildState, script: Script): Draft {
  const layer = state.recalled?.body.layer;
  const lessons = layer !== undefined && 'text' in layer ? layer.text : '';
  const { instructions } = run.rendered;
  const asked: ScriptedPrompt = {
    model: 'm',
    system: 'Answer.',
    messages: [{ text: lessons === '' ? instructions : `${lessons}\n${instructions}` }],
    max_output_tokens: 9,
  };
  const prompt = script.prompt?.(run.child, asked) ?? asked;
  const bytes = utf8(canonicalJson(prompt));
  const prompt_digest = sha256Hex(bytes) as EntryHash;
  if (script.longPrompts === true) log.attachments.set(prompt_digest, bytes);
  return {
    type: 'model_call_started',
    body: {
      call: state.calls.length + 1,
      purpose: 'agent',
      subject: null,
      reviewer: null,
      provider: 'main',
      model: 'm',
      prompt:
        script.longPrompts === true ? { sha256: prompt_digest, size: bytes.length } : { text: canonicalJson(prompt) },
      prompt_digest,
      layers: promptLayers(prompt, lessonBytesOf(state)),
      max_input_tokens: null,
      max_output_tokens: null,
      worst_case_nano_usd: null,
    },
  };
}

function perform(log: ScriptedLog, action: Action, run: RunContext, state: ChildState, script: Script): Draft[] {
  const approves = (reviewer: string): boolean => script.approves?.(run.child, reviewer) ?? true;
  switch (action.kind) {
    case 'recall': {
      const offered = run.request.body.lessons;
      const refused = offered.filter((ref) => script.refuses?.(ref) === true);
      const held = offered.filter((ref) => !refused.includes(ref)).map((ref) => heldLesson(log, ref, script));
      const layer = renderLayer(held);
      const used = held.map(({ ref }, i) => ({ lesson: ref, tokens: layer.tokens[i] as number }));
      return [
        {
          type: 'lessons_recalled',
          body: {
            used,
            refused: refused.map((lesson) => ({ lesson, code: 'lesson_unverified', reason: 'scripted' })),
            layer: { text: layer.text },
            layer_digest: layer.digest as EntryHash,
          },
        },
      ];
    }
    case 'agent': {
      const events = [
        { type: 'step', name: 'think' },
        { type: 'note', text: script.note ?? 'done' },
        {
          type: 'usage',
          usage: { cost_nano_usd: 1000, steps: 1, input_tokens: 20, output_tokens: 5, unmeasured_calls: 0 },
        },
        {
          type: 'lesson',
          title: `Look at ${run.child.slice(-7)}`,
          when: `Sums of ${run.case?.id}`,
          when_not: 'Never else',
          text: `Carry the ${run.child.slice(-3)} digit over.`,
        },
      ] as const;
      return [
        { type: 'agent_reported', body: { events: [...events] } },
        {
          type: 'workspace_changed',
          body: {
            files: [
              {
                path: 'answer.txt',
                change: 'added',
                size: 1,
                sha256: sha256Hex(utf8('1')) as EntryHash,
                executable: false,
              },
            ],
            protected: [],
            content: { text: '{}' },
          },
        },
        {
          type: 'answer_submitted',
          body: {
            ended: 'exited',
            exit_code: 0,
            signal: null,
            output: printed(log, script),
            usage: reportedUsage([...state.events, ...events]),
          },
        },
      ];
    }
    case 'prepare_call':
      return [askedModel(log, run, state, script)];
    case 'call':
      return [
        {
          type: 'model_call_completed',
          body: {
            call: action.call,
            outcome: 'answered',
            code: null,
            reason: '',
            answer: { text: '{}' },
            tool_calls: 0,
            finish: 'stop',
            model: 'm',
            retries: 0,
            usage: {
              ...NO_SPEND,
              cost_nano_usd: null,
              steps: 1,
              input_tokens: 20,
              output_tokens: 5,
              unpriced_calls: 1,
            },
            cached_input_tokens: null,
            reasoning_tokens: null,
            price_basis: '',
          },
        },
      ];
    case 'submit':
      return [
        {
          type: 'answer_submitted',
          body: {
            ended: 'exited',
            exit_code: null,
            signal: null,
            output: { text: '' },
            usage: state.spend.agent,
          },
        },
      ];
    case 'check': {
      const passed = script.passes?.(run.child) ?? true;
      return [
        {
          type: 'criterion_checked',
          body: {
            criterion: action.criterion,
            result: passed ? 'pass' : 'fail',
            reason: 'scripted',
            output: { text: '' },
            usage: { ...NO_SPEND, steps: 1 },
          },
        },
      ];
    }
    case 'review':
      return [
        {
          type: 'review_returned',
          body: {
            criterion: action.criterion,
            reviewer: action.reviewer,
            vote: approves(action.reviewer) ? 'approve' : 'reject',
            reason: 'scripted',
            usage: { ...NO_SPEND, input_tokens: 3, cost_nano_usd: 10 },
          },
        },
      ];
    case 'extract': {
      if (state.verdict === null || state.lessons.length > 0) return [];
      const lessons = lessonsFromAgent(state.events, {
        evidence: [state.verdict.ref],
        criteria: run.contract.criteria.map(({ id }) => id),
        labelledBy: labelledBy(['command', 'review']),
        recalled: [],
        contract: run.contract.id,
        case: run.case?.id ?? null,
        family: run.case?.family ?? null,
        scope: run.contract.learning?.scope ?? '',
        model: null,
        promptDigest: null,
      });
      return lessons.map((lesson) => ({
        type: 'lesson_extracted',
        body: { lesson, digest: lessonDigest(lesson) as EntryHash },
      }));
    }
    case 'check_lesson': {
      const lesson = state.lessons.find(({ ref }) => ref === action.lesson)?.lesson;
      if (lesson === undefined) return [];
      const results = runChecks(lesson, { held: [], criteria: [], cases: [], toCome: [], protectedFiles: [] });
      return results.map((result) => ({
        type: 'lesson_checked',
        body: { lesson: action.lesson, gate: 'checks', ...result },
      }));
    }
    case 'review_lesson':
      return [
        {
          type: 'lesson_reviewed',
          body: {
            lesson: action.lesson,
            reviewer: action.reviewer,
            vote: approves(action.reviewer) ? 'approve' : 'reject',
            reason: 'scripted',
            usage: { ...NO_SPEND, output_tokens: 2, cost_nano_usd: 10 },
          },
        },
      ];
    default:
      throw new Error(`a scripted run has no ${action.kind}`);
  }
}

function printed(log: ScriptedLog, { output }: Script): Blob {
  if (output === undefined) return { text: 'done' };
  const bytes = utf8(output);
  log.attachments.set(sha256Hex(bytes), bytes);
  return { sha256: sha256Hex(bytes), size: bytes.length };
}

function heldLesson(log: ScriptedLog, ref: string, script: Script): HeldLesson {
  const held = [...log.view.state.children.values()].flatMap(({ promoted }) => promoted);
  const found = [...held, ...(script.startingHeld ?? [])].find((one) => one.ref === ref);
  if (found === undefined) throw new Error(`no lesson ${ref}`);
  return found;
}

export function recordsOf(entries: readonly Entry[]): SignedEntry[] {
  return entries.map(({ envelope }) => envelope);
}

/** A lesson of an evaluation, and the proof that it was promoted there. */
export async function promotedOne(script: Script): Promise<{ proof: LessonProof; held: HeldLesson }> {
  const origin = await evaluate(script);
  const extracted = origin.entries.find((entry) => entry.type === 'lesson_extracted');
  if (extracted === undefined) throw new Error('no lesson');
  const chain = origin.entries.filter(({ ledger }) => ledger === extracted.ledger);
  const anchor = origin.entries.find(
    (entry) => entry.type === 'child_anchor' && entry.body.child_run_id === extracted.ledger,
  ) as Entry;
  const ref = refOf(extracted);
  return { proof: buildLessonProof(ref, chain, anchor), held: { ref, lesson: extracted.body.lesson } };
}
