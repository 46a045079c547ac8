import { LedgerError } from './errors.js';
import { sha256 } from './sha256.js';
import { toHex, utf8 } from './bytes.js';

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** `ev_` and 32 hex digits. */
export type EvalRunId = Branded<'EvalRunId'>;
/** `<eval_run_id>.<contract no>.<arm>.<replicate>.<repeat>`; replicate and repeat count from 1. */
export type ChildRunId = Branded<'ChildRunId'>;
/** A ledger is named by the evaluation or the child run that it records. */
export type LedgerId = EvalRunId | ChildRunId;
/** 64 lower-case hex digits. */
export type EntryHash = Branded<'EntryHash'>;
/** `<ledger>#<seq>@<entry_hash>`. */
export type LedgerRef = Branded<'LedgerRef'>;
/** 64 lower-case hex digits: SHA-256(`"truss.key.v1\0"` ‖ role ‖ `"\0"` ‖ public key). */
export type KeyId = Branded<'KeyId'>;

export const EVAL_RUN_ID = /^ev_[0-9a-f]{32}$/;
export const CHILD_RUN_ID =
  /^(ev_[0-9a-f]{32})\.(0|[1-9][0-9]{0,8})\.([a-z][a-z_-]{0,31})\.([1-9][0-9]{0,8})\.([1-9][0-9]{0,8})$/;
export const HASH = /^[0-9a-f]{64}$/;
export const LEDGER_REF = /^(ev_[0-9a-f]{32}(?:\.[a-z0-9_-]+){0,4})#(0|[1-9][0-9]{0,15})@([0-9a-f]{64})$/;

/** The same requester and `request_id` always name the same evaluation. */
export function evalRunId(requester: string, requestId: string): EvalRunId {
  const digest = sha256(utf8('truss.eval.v1\0'), utf8(requester), utf8('\0'), utf8(requestId));
  return `ev_${toHex(digest).slice(0, 32)}` as EvalRunId;
}

export interface ChildAddress {
  readonly eval: EvalRunId;
  readonly contract: number;
  readonly arm: string;
  readonly replicate: number;
  readonly repeat: number;
}

export function childRunId(address: ChildAddress): ChildRunId {
  return `${address.eval}.${address.contract}.${address.arm}.${address.replicate}.${address.repeat}` as ChildRunId;
}

/** @throws LedgerError `bad_id` */
export function parseChildRunId(id: string): ChildAddress {
  const match = CHILD_RUN_ID.exec(id);
  if (match === null) throw new LedgerError('bad_id', `not a child run id: ${JSON.stringify(id.slice(0, 100))}`);
  return {
    eval: match[1] as EvalRunId,
    contract: Number(match[2]),
    arm: match[3] as string,
    replicate: Number(match[4]),
    repeat: Number(match[5]),
  };
}

export function isEvalRunId(id: string): id is EvalRunId {
  return EVAL_RUN_ID.test(id);
}

export function isChildRunId(id: string): id is ChildRunId {
  return CHILD_RUN_ID.test(id);
}

export interface ParsedRef {
  readonly ledger: LedgerId;
  readonly seq: number;
  readonly hash: EntryHash;
}

export function ledgerRef(ledger: LedgerId, seq: number, hash: EntryHash): LedgerRef {
  return `${ledger}#${seq}@${hash}` as LedgerRef;
}

/** @throws LedgerError `bad_id` */
export function parseLedgerRef(ref: string): ParsedRef {
  const match = LEDGER_REF.exec(ref);
  if (match === null) throw new LedgerError('bad_id', `not a ledger ref: ${JSON.stringify(ref.slice(0, 200))}`);
  return { ledger: match[1] as LedgerId, seq: Number(match[2]), hash: match[3] as EntryHash };
}
