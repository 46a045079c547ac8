import { expect } from 'vitest';
import { buildReport, type EvaluationView, initialState, observe } from '#lib/evaluation';
import {
  type BodyOf,
  canonicalJson,
  type Draft,
  emptyChains,
  type Entry,
  type EntryHash,
  fold,
  fromHex,
  genesisHash,
  type JsonObject,
  type LedgerId,
  type LedgerRef,
  merkleRoot,
  refOf,
  type Role,
  signDraft,
  type SignedEntry,
  toHex,
} from '#lib/ledger';
import { lessonDigest, renderLayer } from '#lib/lessons';
import { type Evaluated, SIGNERS, type TestSigner } from './evaluation.testkit.js';
import {
  type Finding,
  type VerificationResult,
  type VerifyInput,
  verifyEvaluation,
  type VerifySignatures,
} from './index.js';

const genuine = new Set<string>();

/** As the default, but every signature is checked once only: thousands of nearly equal evaluations are verified here. */
const remembering: VerifySignatures = async (batch) =>
  batch.map(({ key, message, signature }) => {
    const name = `${key.id} ${Buffer.from(signature).toString('latin1')} ${Buffer.from(message).toString('latin1')}`;
    if (genuine.has(name)) return true;
    const holds = key.verify(message, signature);
    if (holds) genuine.add(name);
    return holds;
  });

/** Verifies records in the order given; the position of each is its index. Whatever is in order is so too for a reader that holds all entries to the end. */
export async function verifyRecords(
  run: Pick<Evaluated, 'evaluation' | 'attachments' | 'trust'>,
  records: readonly SignedEntry[],
  more: Partial<VerifyInput> = {},
): Promise<VerificationResult> {
  const positioned = records.map((record, position) => ({ record, position }));
  const input: VerifyInput = {
    evaluation: run.evaluation,
    records: positioned,
    keys: run.trust,
    attachment: async (sha256) => run.attachments.get(sha256) ?? null,
    verifySignatures: remembering,
    ...more,
  };
  const result = await verifyEvaluation(input);
  if (result.findings.every(({ severity }) => severity !== 'error')) {
    expect(await verifyEvaluation({ ...input, records: positioned.values() })).toEqual(result);
  }
  return result;
}

/** `code ledger#seq`, with the ledger without the evaluation's id; only errors and warnings. */
export function named(result: VerificationResult, severity: Finding['severity'] = 'error'): string[] {
  return result.findings
    .filter((finding) => finding.severity === severity)
    .map(({ code, ledger, seq }) => `${code} ${ledger?.slice(35) ?? '-'}#${seq ?? '-'}`);
}

export function codes(result: VerificationResult, severity: Finding['severity'] = 'error'): string[] {
  return [...new Set(result.findings.filter((finding) => finding.severity === severity).map(({ code }) => code))];
}

export interface Attack {
  /** Whose keys the attacker holds: only their entries are signed anew, consistently with all that was changed before them. */
  readonly holds: readonly Role[];
  /** What stands in the place of an entry; `undefined`: the entry. */
  readonly change: (entry: Entry, draft: Draft) => readonly Draft[] | undefined;
  /** Who signs it, where that is not the role's own key. */
  readonly signer?: (entry: Entry) => TestSigner | undefined;
  readonly session?: (entry: Entry) => string | undefined;
  readonly at?: (entry: Entry) => string | undefined;
  /** The projector derives its report from the changed entries. */
  readonly newReport?: boolean;
}

/**
 * Writes an evaluation anew as somebody with some of its keys would: links, refs, counts, roots, digests and layers follow the change, as far as
 * entries of the roles held can say so.
 */
export async function resign(run: Evaluated, attack: Attack): Promise<SignedEntry[]> {
  const out: Entry[] = [];
  const hashes = new Map<string, string>();
  const refs = new Map<string, string>();
  const heads = new Map<LedgerId, { hashes: EntryHash[] }>();
  const view: EvaluationView = { live: emptyChains(run.evaluation), state: initialState(run.evaluation) };
  const follow = (body: JsonObject): JsonObject => {
    const text = canonicalJson(body);
    const mapped = text
      .replace(/ev_[0-9a-f]{32}[a-z0-9_.-]*#\d+@[0-9a-f]{64}/gu, (ref) => refs.get(ref) ?? ref)
      .replace(/[0-9a-f]{64}/gu, (hash) => hashes.get(hash) ?? hash);
    return mapped === text ? body : JSON.parse(mapped);
  };
  const lessons = new Map<LedgerRef, BodyOf<'lesson_extracted'>['lesson']>();

  const consistent = (entry: Entry): Draft => {
    const draft = { type: entry.type, body: follow(entry.body) } as Draft;
    const chain = heads.get(entry.ledger)?.hashes ?? [];
    switch (draft.type) {
      case 'child_anchor': {
        const child = heads.get(draft.body.child_run_id)?.hashes ?? [];
        const root_hash = toHex(merkleRoot(child.map((hash) => fromHex(hash)))) as EntryHash;
        hashes.set((entry.body as BodyOf<'child_anchor'>).root_hash, root_hash);
        return {
          type: draft.type,
          body: { ...draft.body, entries: child.length, root_hash, head_hash: child.at(-1) ?? draft.body.head_hash },
        };
      }
      case 'lesson_extracted':
        return { type: draft.type, body: { ...draft.body, digest: lessonDigest(draft.body.lesson) } };
      case 'lessons_recalled': {
        const held = draft.body.used.flatMap(({ lesson: ref }) => {
          const lesson = lessons.get(ref);
          return lesson === undefined ? [] : [{ ref, lesson }];
        });
        const layer = renderLayer(held);
        return {
          type: draft.type,
          body: { ...draft.body, layer: { text: layer.text }, layer_digest: layer.digest as EntryHash },
        };
      }
      case 'run_sealed':
        return { type: draft.type, body: { ...draft.body, entries: chain.length + 1 } };
      case 'eval_report':
        return attack.newReport === true ? { type: draft.type, body: buildReport(view.state) } : draft;
      default:
        return draft;
    }
  };

  for (const entry of run.entries) {
    const chain = heads.get(entry.ledger) ?? { hashes: [] };
    heads.set(entry.ledger, chain);
    const origin =
      entry.ledger === run.evaluation
        ? genesisHash(run.evaluation)
        : (hashes.get(run.log.view.live.children.get(entry.ledger as never)?.requested ?? '') as EntryHash);
    const keep = (fresh: Entry): void => {
      out.push(fresh);
      chain.hashes.push(fresh.hash);
      observe(view.state, fresh, fold(view.live, fresh));
      if (fresh.type === 'lesson_extracted') lessons.set(refOf(fresh), fresh.body.lesson);
    };
    if (!attack.holds.includes(entry.role)) {
      hashes.set(entry.hash, entry.hash);
      keep(entry);
      continue;
    }
    const draft = consistent(entry);
    for (const changed of attack.change(entry, draft) ?? [draft]) {
      const place = {
        eval: run.evaluation,
        ledger: entry.ledger,
        prev: chain.hashes.at(-1) ?? origin,
        seq: chain.hashes.length,
        session: attack.session?.(entry) ?? entry.session,
        at: attack.at?.(entry) ?? entry.at,
      };
      const { entry: fresh } = await signDraft(changed, place, attack.signer?.(entry) ?? SIGNERS[entry.role]);
      hashes.set(entry.hash, fresh.hash);
      refs.set(refOf(entry), refOf(fresh));
      keep(fresh);
    }
  }
  return out.map(({ envelope }) => envelope);
}

/** The record with one bit of its payload turned over. */
export function flipped(record: SignedEntry, at: number, bit = 0): SignedEntry {
  const payload = Uint8Array.from(record.payload);
  payload[at] = (payload[at] as number) ^ (1 << bit);
  return { ...record, payload };
}

/** Reproducible shuffle: the same seed, the same order. */
export function shuffled<T>(items: readonly T[], seed: number): T[] {
  const result = [...items];
  let state = seed + 1;
  for (let i = result.length - 1; i > 0; i--) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    const j = state % (i + 1);
    [result[i], result[j]] = [result[j] as T, result[i] as T];
  }
  return result;
}
