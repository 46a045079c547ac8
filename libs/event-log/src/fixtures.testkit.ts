import {
  childRunId,
  type ChildRunId,
  type Draft,
  type EntryHash,
  evalRunId,
  type EvalRunId,
  genesisHash,
  keyId,
  type LedgerId,
  openTrustStore,
  type Place,
  publicKeyFromSeed,
  refOf,
  type Role,
  sha256,
  signAsync,
  signDraft,
  SigningKey,
  type SignedDraft,
  type Signer,
  toHex,
  type TrustStore,
  utf8,
} from '#lib/ledger';

/** A signer whose key follows from its name. */
export function makeSigner(role: Role, name = 'one'): Signer & { readonly publicKey: Uint8Array } {
  const seed = new SigningKey(sha256(utf8(`test key ${role} ${name}`)));
  const publicKey = publicKeyFromSeed(seed);
  return { keyId: keyId(role, publicKey), role, publicKey, sign: (message) => signAsync(seed, message) };
}

export function makeTrustStore(...signers: ReturnType<typeof makeSigner>[]): TrustStore {
  return {
    version: 1,
    keys: signers.map((signer) => ({
      id: signer.keyId,
      role: signer.role,
      operator: 'tests',
      public_key: toHex(signer.publicKey),
      status: 'active',
      accepted_heads: [],
    })),
  };
}

export const coordinator = makeSigner('coordinator');
export const executor = makeSigner('executor');
export const projector = makeSigner('projector');
/** A key that no trust store of these tests holds. */
export const stranger = makeSigner('executor', 'stranger');
export const trustStore = makeTrustStore(coordinator, executor, projector);
export const keys = openTrustStore(trustStore);

export const AT = '2026-12-01T10:00:00.000Z';
const ZERO_HASH = '0'.repeat(64) as EntryHash;

export function sessionNamed(name: string): string {
  return toHex(sha256(utf8(`test session ${name}`))).slice(0, 32);
}

/** An evaluation that no other test names. */
export function freshEvaluation(): EvalRunId {
  return evalRunId('tests', crypto.randomUUID());
}

export function childOf(evaluation: EvalRunId, repeat = 1, arm = 'on'): ChildRunId {
  return childRunId({ eval: evaluation, contract: 0, arm, replicate: 1, repeat });
}

/** Drafts one ledger's entries, each the next of the one before, as one writer. */
export class Chain {
  head: EntryHash;
  seq = 0;

  constructor(
    readonly evaluation: EvalRunId,
    readonly ledger: LedgerId,
    origin: EntryHash,
    readonly signer: Signer,
    readonly session: string = sessionNamed(`${ledger} ${signer.keyId}`),
  ) {
    this.head = origin;
  }

  static evaluation(evaluation: EvalRunId = freshEvaluation(), session?: string): Chain {
    return new Chain(evaluation, evaluation, genesisHash(evaluation), coordinator, session);
  }

  /** The ledger of the child that this `child_requested` asks for. */
  static child(requested: SignedDraft, session?: string): Chain {
    if (requested.entry.type !== 'child_requested') throw new Error(`not a request: ${requested.entry.type}`);
    return new Chain(requested.entry.eval, requested.entry.body.child_run_id, requested.entry.hash, executor, session);
  }

  /** The same ledger at the same head, written by somebody else. */
  as(session: string, signer: Signer = this.signer): Chain {
    const other = new Chain(this.evaluation, this.ledger, this.head, signer, session);
    other.seq = this.seq;
    return other;
  }

  /** Signs the next entry and moves on to it. */
  async next(draft: Draft, at = AT): Promise<SignedDraft> {
    const place: Place = {
      eval: this.evaluation,
      ledger: this.ledger,
      prev: this.head,
      seq: this.seq,
      session: this.session,
      at,
    };
    const signed = await signDraft(draft, place, this.signer);
    this.head = signed.entry.hash;
    this.seq++;
    return signed;
  }
}

/** Small valid bodies, for tests to which the content does not matter. */
export const drafts = {
  started: (): Draft => ({
    type: 'eval_started',
    body: {
      requester: 'tests',
      request_id: 'one',
      request_digest: ZERO_HASH,
      plan: {
        contracts: [{ digest: ZERO_HASH, contract: {} }],
        arms: [
          { name: 'on', kind: 'learning_on', memory: { extraction: 'on', promotion: 'eager', recall: 'verified' } },
          { name: 'off', kind: 'learning_off', memory: { extraction: 'off', promotion: 'off', recall: 'off' } },
        ],
        repeats: 1,
        replicates: 1,
        seed: 0,
        concurrency: 1,
        starting_lessons: [],
        offer_rule: 'same-replicate',
        max_cost_nano_usd: null,
        deadline: '2026-12-02T10:00:00.000Z',
        statistics: { method_version: 1, primary: 'pass_rate', alpha: 0.05, margin: 0.1, min_units: 2 },
      },
      trust_store: { sha256: ZERO_HASH, size: 0 },
      common_digest: ZERO_HASH,
      software: { truss: '0', node: '24' },
    },
  }),
  requested: (child: ChildRunId): Draft => ({
    type: 'child_requested',
    body: { child_run_id: child, case: null, seed: 0, run: 'r1', lessons: [] },
  }),
  closed: (): Draft => ({ type: 'eval_closed', body: { outcome: 'complete', anchors: 0, reason: 'all anchored' } }),
  report: (): Draft => ({ type: 'eval_report', body: { verdict: 'pass' } }),
  runStarted: (requested: SignedDraft): Draft => ({
    type: 'run_started',
    body: {
      request: refOf(requested.entry),
      contract_digest: ZERO_HASH,
      budget: {
        max_cost_nano_usd: null,
        max_steps: null,
        max_input_tokens: null,
        max_output_tokens: null,
        timeout_ms: null,
      },
      executor: { truss: '0', node: '24' },
    },
  }),
  note: (text = 'note'): Draft => ({ type: 'agent_reported', body: { events: [{ type: 'note', text }] } }),
  sealed: (chain: Chain): Draft => ({
    type: 'run_sealed',
    body: {
      entries: chain.seq + 1,
      spend: { agent: NOTHING, tools: NOTHING, reviewers: NOTHING, extraction: NOTHING },
      usage: NOTHING,
      interrupted: NOTHING,
      verdict: 'pass',
      verdict_ref: refOf({ ledger: chain.ledger, seq: 0, hash: chain.head } as SignedDraft['entry']),
    },
  }),
  takeOver: (displaced: Chain): Draft => ({
    type: 'writer_changed',
    body: { displaced: { key: displaced.signer.keyId, session: displaced.session }, reason: 'test' },
  }),
};
const NOTHING = { cost_nano_usd: 0, steps: 0, input_tokens: 0, output_tokens: 0, unmeasured_calls: 0 };

/** `eval_started`, one request, and the two chains to go on with. */
export async function startedEvaluation(evaluation: EvalRunId = freshEvaluation()): Promise<{
  readonly parent: Chain;
  readonly child: Chain;
  /** To be appended in one call. */
  readonly opening: readonly SignedDraft[];
  /** The child's first entry, to be appended after the opening. */
  readonly runStarted: SignedDraft;
}> {
  const parent = Chain.evaluation(evaluation);
  const started = await parent.next(drafts.started());
  const requested = await parent.next(drafts.requested(childOf(evaluation)));
  const child = Chain.child(requested);
  return { parent, child, opening: [started, requested], runStarted: await child.next(drafts.runStarted(requested)) };
}
