import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import {
  type Contract,
  type LoadedContract,
  contractSchema,
  type Program,
  renderCase,
  snapshotWorkspace,
  workspaceDigest,
} from '#lib/contract';
import { type ChildState, evolveChild, newChild } from '#lib/evaluation';
import {
  type AgentEvent,
  BODIES,
  type BodyOf,
  canonicalJson,
  type ChildRunId,
  type Draft,
  type EntryHash,
  type EntryType,
  type EvalRunId,
  keyId,
  type KeyId,
  type LedgerRef,
  ledgerRef,
  publicKeyFromSeed,
  sha256Hex,
  sign,
  signDraft,
  type Signer,
  utf8,
} from '#lib/ledger';
import type { HeldLesson, LessonProof } from '#lib/lessons';
import { type LiveDeps, openModel } from '#lib/providers';
import { contractWith } from '../../contract/src/smallest.testkit.js';
import type { Action, ActionPorts, RunActions, RunContext } from './actions.js';
import { decideRun } from './decide.js';
import { createRunActions } from './run-actions.js';
import type { RunLimits } from './work.js';

export const EVAL = `ev_${'a'.repeat(32)}` as EvalRunId;
const CHILD = `${EVAL}.0.on.1.1` as ChildRunId;
const START = Date.parse('2026-01-01T00:00:00.000Z');
const PARENT_REF = ledgerRef(EVAL, 1, 'b'.repeat(64) as EntryHash);

const { budget } = contractWith();
const base = contractWith({
  id: 'pager',
  title: 'The pager',
  instructions: 'Repair it.',
  agent: { kind: 'fixed', answer: 'spam', file: 'answer.txt' },
  criteria: [{ id: 'label', kind: 'match', file: 'answer.txt', equals: 'spam' }],
  budget: { ...budget, max_steps: null, timeout_ms: 20_000 },
});

export interface Given {
  readonly contract?: Partial<Contract>;
  /** Files of the workspace; none: an empty folder. */
  readonly workspace?: Readonly<Record<string, string>>;
  /** Files beside the contract, pinned. */
  readonly programs?: Readonly<Record<string, string>>;
  readonly caseId?: string;
  readonly lessons?: readonly HeldLesson[];
  /** How models are reached, and the variables that hold keys. */
  readonly models?: LiveDeps;
  /** A contract from a file, instead of all of the above but the lessons. */
  readonly loaded?: LoadedContract;
}

/** A run on a ledger of its own: real folders and processes, real entries, no log. */
export interface Kit {
  readonly run: RunContext;
  readonly ports: ActionPorts;
  readonly actions: RunActions;
  readonly state: ChildState;
  readonly drafts: Draft[];
  readonly workspace: string;
  readonly contractFolder: string;
  record(...drafts: Draft[]): Promise<void>;
  perform(action: Action, abort?: AbortSignal): Promise<Draft[]>;
  /** The body of the last entry of a type. */
  last<T extends EntryType>(type: T): BodyOf<T>;
  events(): AgentEvent[];
  /** Another executor's actions over the same ledger. */
  elsewhere(limits?: Partial<RunLimits>): RunActions;
}

export async function kit(given: Given = {}): Promise<Kit> {
  const root = await mkdtemp(join(tmpdir(), 'kit-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const workspace = join(root, 'workspace');
  const contractFolder = join(root, 'contract');
  await fill(workspace, given.workspace ?? {});
  await fill(contractFolder, given.programs ?? {});
  const files = await snapshotWorkspace(workspace);
  const programs: Program[] = Object.entries(given.programs ?? {}).map(([path, text]) => {
    const bytes = utf8(text);
    return { path, sha256: sha256Hex(bytes), bytes: bytes.length };
  });
  const contract =
    given.loaded?.contract ??
    contractSchema.parse({
      ...base,
      programs,
      ...given.contract,
      workspace: {
        digest: files.length === 0 ? null : workspaceDigest(files),
        files: files.length,
        bytes: 0,
        protected: given.contract?.workspace?.protected ?? [],
      },
    });
  const row = contract.cases.find(({ id }) => id === given.caseId) ?? null;
  const lessons = given.lessons ?? [];
  const run: RunContext = {
    child: CHILD,
    request: {
      ref: PARENT_REF,
      body: {
        child_run_id: CHILD,
        case: row?.id ?? null,
        seed: 7,
        run: 'r_opaque',
        lessons: lessons.map(({ ref }) => ref),
      },
    },
    arm: { name: 'on', kind: 'learning_on', memory: { extraction: 'on', promotion: 'eager', recall: 'verified' } },
    contract,
    contractDigest: sha256Hex(utf8(canonicalJson(contract, 'any'))),
    rendered: renderCase(contract, row),
    case: row,
    otherCases: contract.cases.filter(({ id }) => id !== row?.id),
    software: { truss: '0.0.0', node: '24' },
  };
  const attachments = new Map<string, Uint8Array>();
  const ports: ActionPorts = {
    contractDirectory: () => given.loaded?.directory ?? contractFolder,
    workspaceDirectory: () => given.loaded?.workspaceDir ?? (files.length === 0 ? null : workspace),
    attachment: (sha256) => Promise.resolve(attachments.get(sha256) ?? null),
    putAttachment: (bytes) => {
      const sha256 = sha256Hex(bytes);
      attachments.set(sha256, bytes);
      return Promise.resolve({ sha256, size: bytes.length });
    },
    lessonProof: (ref) => proofs.get(ref),
    verifyLesson: (proof) => {
      const held = lessons.find(({ ref }) => ref === proof.lesson);
      return held === undefined ? { ok: false, code: 'lesson_unverified', reason: 'no anchor' } : { ok: true, held };
    },
    model: (name) => {
      const directory = given.loaded?.directory ?? contractFolder;
      return openModel({ name, contract, directory }, given.models ?? { env: {} });
    },
    secrets: Object.entries(given.models?.env ?? {}).map(([name, value = '']) => ({ name, value })),
    now: () => ledger.now(),
  };
  const proofs = new Map(lessons.map(({ ref }) => [ref, proofOf(ref)]));
  const actions = createRunActions(run, ports);
  onTestFinished(() => actions.dispose());
  const state = newChild();
  const drafts: Draft[] = [];
  const ledger = signedLedger();

  const record = async (...fresh: Draft[]): Promise<void> => {
    for (const draft of fresh) {
      BODIES[draft.type].parse(draft.body);
      drafts.push(draft);
      evolveChild(state, await ledger.sign(draft));
    }
  };
  return {
    run,
    ports,
    actions,
    state,
    drafts,
    workspace,
    contractFolder,
    record,
    async perform(action, abort = new AbortController().signal) {
      const early: Draft[] = [];
      const result = await actions.perform(action, state, (some) => early.push(...some), abort);
      await record(...early, ...result);
      return [...early, ...result];
    },
    last(type) {
      const found = drafts.findLast((draft) => draft.type === type);
      if (found === undefined) throw new Error(`no ${type} among ${drafts.map((draft) => draft.type).join(', ')}`);
      return BODIES[type].parse(found.body) as BodyOf<typeof type>;
    },
    events: () => drafts.flatMap((draft) => (draft.type === 'agent_reported' ? draft.body.events : [])),
    elsewhere(limits) {
      const other = createRunActions(run, ports, limits);
      onTestFinished(() => other.dispose());
      return other;
    },
  };
}

async function fill(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
    if (text.startsWith('#!')) await chmod(join(folder, path), 0o755);
  }
}

function signedLedger() {
  const seed = randomBytes(32);
  const key = keyId('executor', publicKeyFromSeed(seed));
  const signer: Signer = { keyId: key, role: 'executor', sign: (message) => Promise.resolve(sign(seed, message)) };
  let seq = 0;
  let prev = 'c'.repeat(64) as EntryHash;
  const begun = performance.now();
  const now = (): number => START + (performance.now() - begun);
  return {
    now,
    async sign(draft: Draft) {
      const at = new Date(now()).toISOString();
      const { entry } = await signDraft(
        draft,
        { eval: EVAL, ledger: CHILD, prev, seq, session: 'd'.repeat(32), at },
        signer,
      );
      seq += 1;
      prev = entry.hash;
      return entry;
    },
  };
}

/** Takes a run from step to step until it is sealed; `fresh`: with another executor for every action. */
export async function drive(run: Kit, fresh = false): Promise<void> {
  let extracted = false;
  for (;;) {
    const step = decideRun(run.state, run.run, extracted);
    if (step.kind === 'sealed') return;
    if (step.kind === 'record') {
      await run.record(...step.drafts);
      continue;
    }
    if (step.action.kind === 'extract') extracted = true;
    if (!fresh) {
      await run.perform(step.action);
      continue;
    }
    const early: Draft[] = [];
    const abort = new AbortController().signal;
    const result = await run.elsewhere().perform(step.action, run.state, (drafts) => early.push(...drafts), abort);
    await run.record(...early, ...result);
  }
}

/**
 * Takes a run to its end with one crash: after so many entries the rest of what an action brought is lost, and another executor takes it up.
 * `inFlight`: a call whose intent was the last entry is made first, and nobody hears of its answer.
 * @returns what was the last entry before the crash
 */
export async function driveWithCrash(run: Kit, after: number, inFlight: boolean): Promise<Draft | undefined> {
  let actions = run.actions;
  let extracted = false;
  let last: Draft | undefined;
  const abort = new AbortController().signal;
  for (;;) {
    const step = decideRun(run.state, run.run, extracted);
    if (step.kind === 'sealed') return last;
    const drafts = step.kind === 'record' ? [...step.drafts] : [];
    if (step.kind === 'act') {
      if (step.action.kind === 'extract') extracted = true;
      const early: Draft[] = [];
      const late = await actions.perform(step.action, run.state, (some) => early.push(...some), abort);
      drafts.push(...early, ...late);
    }
    for (const draft of drafts) {
      await run.record(draft);
      if (last !== undefined || run.state.entries !== after) continue;
      last = draft;
      const call = run.state.calls.at(-1);
      if (inFlight && call?.outcome === 'open')
        await actions.perform({ kind: 'call', call: call.started.call }, run.state, () => {}, abort);
      const displaced = { key: 'e'.repeat(64) as KeyId, session: 'd'.repeat(32) };
      await run.record({ type: 'writer_changed', body: { displaced, reason: 'crashed' } });
      actions = run.elsewhere();
      extracted = false;
      break;
    }
  }
}

// The port `verifyLesson` judges it; its content is the business of libs/lessons.
function proofOf(lesson: LedgerRef): LessonProof {
  const envelope = { payloadType: '', payload: '', signatures: [{ keyid: '', sig: '' }] };
  return {
    v: 1,
    lesson,
    evaluation: EVAL,
    anchor: envelope,
    size: 1,
    entries: [{ seq: 0, envelope, proof: [] }],
    attachments: [],
  };
}

/** An agent, criterion or reviewer as a one-line Node program. */
export function node(code: string): string[] {
  return ['node', '--input-type=module', '-e', code];
}

/** Reports by appending to the event file, one line each. */
export const REPORT =
  "import { appendFileSync } from 'node:fs'; const report = (e) => appendFileSync(process.env.TRUSS_EVENTS, JSON.stringify(e) + '\\n');";

export async function waitFor(condition: () => boolean, ms = 5_000): Promise<boolean> {
  const end = Date.now() + ms;
  while (Date.now() < end) {
    if (condition()) return true;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return condition();
}

/** Runs, and is not merely waiting for its parent to notice its end. */
export function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/su.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}
