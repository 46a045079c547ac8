import { type ActionPorts, createRunActions, type RunActions, type RunContext } from '#lib/child-run';
import { renderCase } from '#lib/contract';
import { caseOf, type EvaluationView, planContract, planOf } from '#lib/evaluation';
import { type ChildRunId, type LedgerRef, mayContinue } from '#lib/ledger';
import { type LessonProof, readProof, recallPolicy, verifyLessonProof } from '#lib/lessons';
import { type ModelPort, openModel } from '#lib/providers';
import type { RunEffect, RunEvent } from '#lib/protocol';
import type { OpenView, Ports } from '#lib/runtime';
import type { FileHints } from './file-hints.js';

/** What was asked for so long ago, another may have been asked for since. In ms. */
const FRESH_MS = 1_000;

/** The effects of one child run: its context from the signed plan, its actions, and the one that is under way. */
export class ActionRunner {
  private context: RunContext | null = null;
  private actions: RunActions | null = null;
  private aborting: AbortController | null = null;
  private readonly starting = new Map<LedgerRef, LessonProof>();
  private loading: Promise<void> | null = null;

  constructor(
    private readonly ports: Ports,
    private readonly open: OpenView,
    private readonly hints: FileHints,
  ) {}

  contextOf(view: EvaluationView, child: ChildRunId): RunContext {
    this.context ??= contextOf(view, child, this.ports.software);
    return this.context;
  }

  /**
   * Does an action as the writer of that session, and posts what came of it. An action whose writer was displaced while its files came is not begun, and
   * nothing is posted: the core hears of that from the log.
   */
  perform(
    child: ChildRunId,
    session: string | null,
    { id, action }: Extract<RunEffect, { kind: 'perform' }>,
    post: (event: RunEvent) => void,
    fatal: (error: unknown) => void,
  ): void {
    const state = this.open.view.state.children.get(child)?.run;
    if (state === undefined || state === null) return;
    const aborting = new AbortController();
    this.aborting = aborting;
    const { ports, open } = this;
    const asked = ports.now();
    const work = async () => {
      // Before any action, since the run may be one that was taken up after its recall.
      const run = this.contextOf(open.view, child);
      this.loading ??= this.load(run);
      await this.loading;
      if (ports.now() - asked > FRESH_MS) await open.caughtUp();
      const writer = { key: ports.signers.executor.keyId, session: session ?? '' };
      if (aborting.signal.aborted || !mayContinue(open.view.live, child, writer)) return null;
      this.actions ??= createRunActions(run, this.actionPorts(run));
      return this.actions.perform(action, state, (drafts) => post({ kind: 'progress', id, drafts }), aborting.signal);
    };
    work().then(
      (drafts) => {
        if (this.aborting === aborting) this.aborting = null;
        if (drafts !== null) post({ kind: 'performed', id, drafts });
      },
      (error) => {
        if (!aborting.signal.aborted) fatal(error);
      },
    );
  }

  abort(): void {
    this.aborting?.abort();
  }

  async dispose(): Promise<void> {
    await this.actions?.dispose();
  }

  private async load({ contract, contractDigest }: RunContext): Promise<void> {
    await this.hints.fetch(this.ports.contracts, contractDigest, contract);
    for (const { lesson, proof } of planOf(this.open.view.state).starting_lessons) {
      const bytes = await this.ports.log.attachment(proof.sha256);
      const read = bytes === null ? null : proofIn(bytes);
      if (read !== null) this.starting.set(lesson, read);
    }
  }

  private actionPorts(run: RunContext): ActionPorts {
    const { ports, open } = this;
    const { contract, contractDigest } = run;
    const { env } = ports.models;
    const policy = { keys: ports.keys, ...recallPolicy(contract) };
    // One for the whole run: a recording counts its calls.
    const models = new Map<string, ModelPort>();
    return {
      model: (name) => {
        const directory = ports.contracts.locate(contractDigest)?.directory ?? '';
        const model = models.get(name) ?? openModel({ name, contract, directory }, ports.models);
        models.set(name, model);
        return model;
      },
      secrets: Object.values(contract.providers).flatMap(({ api_key_env: name }) => {
        const value = name === null ? undefined : env[name]?.trim();
        return name === null || value === undefined ? [] : [{ name, value }];
      }),
      contractDirectory: (digest: string) => ports.contracts.locate(digest)?.directory ?? null,
      workspaceDirectory: (digest: string) => ports.contracts.locate(digest)?.workspace ?? null,
      contractProblem: (digest: string) => ports.contracts.whyNot(digest),
      attachment: (sha256: string) => ports.log.attachment(sha256),
      putAttachment: (bytes: Uint8Array) => ports.log.putAttachment(bytes),
      lessonProof: (ref: LedgerRef) => open.proofs.proof(ref) ?? this.starting.get(ref),
      verifyLesson: (proof: LessonProof) => verifyLessonProof(proof, policy),
      now: ports.now,
    };
  }
}

function contextOf(view: EvaluationView, child: ChildRunId, software: RunContext['software']): RunContext {
  const record = view.state.children.get(child);
  const plan = planOf(view.state);
  const arm = plan.arms.find((candidate) => candidate.name === record?.arm);
  const entry = record === undefined ? undefined : plan.contracts[record.contract];
  if (record === undefined || arm === undefined || entry === undefined)
    throw new Error(`run ${child} is not in the plan`);
  const contract = planContract(plan, record.contract);
  const row = caseOf(contract, record.request.body.case);
  return {
    child,
    request: record.request,
    arm,
    contract,
    contractDigest: entry.digest,
    rendered: renderCase(contract, row),
    case: row,
    otherCases: contract.cases.filter((other) => other !== row),
    software,
  };
}

/** `null` where the bytes are none: the recall then refuses the lesson, and says so. */
function proofIn(bytes: Uint8Array): LessonProof | null {
  try {
    return readProof(bytes);
  } catch {
    return null;
  }
}
