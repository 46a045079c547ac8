import { ArchiveError, type ArchiveSources } from '#lib/archive';
import type { CancelRequested, EvalAccepted, EvalRequested } from '#lib/evaluation';
import type { EventLog, TopicRecord, Topics } from '#lib/event-log';
import { isEvalRunId } from '#lib/ledger';
import { type LessonProof, readProof, recallPolicy, verifyLessonProof } from '#lib/lessons';
import type { Refusal, RequestResolver } from '#lib/runtime';
import { ContractResolver, type ResolvedContract } from './contracts.js';
import { RequestError } from './errors.js';
import { checkBudget, planOfRequest } from './plan.js';
import { type QuotaLimits, Quotas } from './quotas.js';
import { Registry } from './registry.js';
import { requesterKeys, type TrustedKeys } from './requester-keys.js';
import {
  firstProblem,
  type OutsideCancel,
  type OutsideRequest,
  outsideCancelSchema,
  outsideRequestSchema,
} from './shape.js';
import { checkSignature } from './sign.js';

export interface OutsideOptions {
  /** The name of this deployment: a signature is for it. */
  readonly audience: string;
  readonly keys: TrustedKeys;
  readonly log: Pick<EventLog, 'attachment' | 'putAttachment' | 'records'>;
  readonly topics: Pick<Topics, 'list'>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly quotas: QuotaLimits;
  /** The longest deadline that is accepted: topics are kept longer than it. */
  readonly maxDeadlineMs: number;
  /** Whether every request must be signed, not only those that bring a contract. */
  readonly signedOnly?: boolean;
  readonly sources: Omit<ArchiveSources, 'attachment'>;
  /** Told of an error that is nobody's refusal, and was made one. */
  readonly unexpected?: (error: unknown) => void;
}

/** An error of the log or the topics, whatever it is: nothing is wrong with the request, and it stays where it is. */
class PortFailed extends Error {}

/** Pairs at once where nobody says how many. */
const CONCURRENCY = 16;

/** Judges what other systems put on `eval.requested`. */
export function outsideRequests(options: OutsideOptions): RequestResolver {
  const { audience, now } = options;
  const log = guarded(options.log);
  const topics = guarded(options.topics);
  const keys = requesterKeys(options.keys);
  const attachment = (sha256: string) => log.attachment(sha256);
  const registry = new Registry({ topics, keys, audience, now: () => performance.now() });
  const contracts = new ContractResolver({ log, registry, sources: { ...options.sources, attachment } });
  const quotas = new Quotas({ limits: options.quotas, log, topics, keys: options.keys, now });

  async function requestOf(asked: OutsideRequest): Promise<EvalRequested> {
    const { requester, request_id, signature, statistics, limits, seed } = asked;
    if (signature !== null) await checkSignature({ ...asked, signature }, requester, { keys, audience, now: now() });
    else if (asked.contract.kind === 'inline' || options.signedOnly === true) {
      throw new RequestError(
        'signature_needed',
        'a request that brings its contract runs programs of its own: sign it with a requester key, or ask for a registered contract',
      );
    }
    const resolved = await contracts.resolve(asked.contract);
    const planned = planOfRequest(resolved, {
      repeats: asked.repeats,
      replicates: asked.replicates,
      maxCostNanoUsd: limits.max_cost_nano_usd,
      deadlineMs: asked.deadline_ms,
      ...statistics,
    });
    if (planned.deadline_ms > options.maxDeadlineMs) {
      throw new RequestError(
        'deadline_too_long',
        `the deadline is ${hours(planned.deadline_ms)} h after acceptance, and ${hours(options.maxDeadlineMs)} h is the longest here: ask for a shorter one`,
      );
    }
    await checkBudget(resolved.contract, planned.max_cost_nano_usd, now());
    await checkLessons(asked.lessons, resolved, options.keys, attachment);
    return {
      kind: 'eval',
      requester,
      request_id,
      ...planned,
      seed,
      concurrency: asked.concurrency ?? Math.min(planned.replicates, CONCURRENCY),
      starting_lessons: asked.lessons,
      files: [...resolved.files],
    };
  }

  /** Who asked for an evaluation and can sign, signs its cancel. Intakes trust the same keys, so none is more lenient than another. */
  async function cancelOf({ signature, ...cancel }: OutsideCancel): Promise<CancelRequested> {
    const { eval_run_id: id } = cancel;
    if (!isEvalRunId(id)) throw new RequestError('bad_id', `no evaluation has the id ${id.slice(0, 100)}`);
    const requester = await quotas.requesterOf(id);
    if (requester === null) {
      throw new RequestError('not_found', `no evaluation ${id} was accepted here, so there is nothing to cancel`);
    }
    if (signature !== undefined) {
      await checkSignature({ ...cancel, signature }, requester, { keys, audience, now: now() });
    } else if (options.signedOnly === true || keys.has(requester)) {
      throw new RequestError(
        'signature_needed',
        `${requester} asked for ${id}, and it is theirs to cancel: sign the cancel with a requester key of theirs`,
      );
    }
    return cancel;
  }

  async function resolve({ value }: TopicRecord): Promise<EvalRequested | CancelRequested> {
    if (isCancel(value)) {
      const cancel = outsideCancelSchema.safeParse(value);
      if (!cancel.success) throw new RequestError('bad_request', firstProblem(cancel.error));
      return cancelOf(cancel.data);
    }
    const asked = outsideRequestSchema.safeParse(value);
    if (!asked.success) throw new RequestError('bad_request', firstProblem(asked.error));
    return requestOf(asked.data);
  }

  return {
    resolve: (record) => judged(() => resolve(record), options.unexpected),
    admit: (accepted: EvalAccepted) =>
      judged(async () => {
        await quotas.admit(accepted);
        return null;
      }, options.unexpected),
  };
}

function isCancel(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'cancel';
}

/** Whatever a request does, it is refused for it, and the service goes on. Only an error of the log or the topics is thrown. */
async function judged<T>(work: () => Promise<T>, unexpected?: (error: unknown) => void): Promise<T | Refusal> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof PortFailed) throw error.cause;
    if (error instanceof RequestError || error instanceof ArchiveError)
      return { kind: 'refused', code: error.code, reason: error.message };
    if (error instanceof Error && (error.name === 'ContractError' || error.name === 'WorkspaceError'))
      return { kind: 'refused', code: 'contract_invalid', reason: withoutFolder(error.message) };
    unexpected?.(error);
    const name = error instanceof Error ? error.name : 'an unknown error';
    return {
      kind: 'refused',
      code: 'unexpected',
      reason: `the request could not be judged (${name}): correct it, or see to the intake, then \`truss dead-letter retry\``,
    };
  }
}

/** A message about a file names the folder where it was unpacked, which is gone and nobody's business. */
function withoutFolder(message: string): string {
  return message.replaceAll(/\S*\/truss-contract-[^/\s]+\/files\//g, '');
}

async function checkLessons(
  lessons: OutsideRequest['lessons'],
  { contract }: ResolvedContract,
  keys: TrustedKeys,
  attachment: (sha256: string) => Promise<Uint8Array | null>,
): Promise<void> {
  const policy = { keys, ...recallPolicy(contract) };
  for (const { lesson, proof } of lessons) {
    const bytes = await attachment(proof.sha256);
    const why = bytes === null ? 'its proof is not in the log' : problemOf(bytes, lesson, policy);
    if (why !== null) throw new RequestError('lesson_unverified', `starting lesson ${lesson} does not verify: ${why}`);
  }
}

function problemOf(
  bytes: Uint8Array,
  lesson: LessonProof['lesson'],
  policy: Parameters<typeof verifyLessonProof>[1],
): string | null {
  try {
    const verified = verifyLessonProof(readProof(bytes), { ...policy, expectLesson: lesson });
    return verified.ok ? null : verified.reason;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Every error of a port comes out as `PortFailed`, with what it was as its cause. */
function guarded<T extends object>(port: T): T {
  return new Proxy(port, {
    get(target, name, receiver) {
      const member: unknown = Reflect.get(target, name, receiver);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        const result: unknown = Reflect.apply(member, target, args);
        if (result instanceof Promise) return result.catch(failed);
        return isIterable(result) ? guardedRecords(result) : result;
      };
    },
  });
}

function failed(cause: unknown): never {
  throw new PortFailed('a port failed', { cause });
}

function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

async function* guardedRecords(records: AsyncIterable<unknown>): AsyncGenerator<unknown> {
  const iterator = records[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await iterator.next().catch(failed);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    await iterator.return?.();
  }
}

function hours(ms: number): number {
  return Math.round((ms / 3_600_000) * 10) / 10;
}
