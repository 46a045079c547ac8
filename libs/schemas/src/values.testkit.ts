import { reportSchema } from '#lib/evaluation';
import {
  type JsonObject,
  type JsonValue,
  type KeyId,
  refOf,
  sha256Hex,
  type SignedEntry,
  toEnvelope,
  utf8,
} from '#lib/ledger';
import { evaluate } from '../../verification/src/evaluation.testkit.js';
import type { AttachmentChunk, WireTopic } from './codec.js';

const HASH = sha256Hex(utf8('a hash'));
const EVAL = `ev_${HASH.slice(0, 32)}`;
const AT = 1_764_500_000_000;
const STATISTICS = { method_version: 1, primary: 'pass_rate', alpha: 0.05, margin: 0.1, min_units: 6 };
const CONTRACT = {
  id: 'repair',
  title: 'Ünïcode "quoted"  ',
  budget: { max_cost_nano_usd: null },
  cases: [[1, 2.5e-7]],
};

export const ENTRY: SignedEntry = {
  payloadType: 'application/vnd.truss.ledger-entry.v1+json',
  payload: utf8('{"at":"2026-01-01T00:00:00.000Z"}'),
  keyid: HASH as KeyId,
  signature: new Uint8Array(64).fill(255),
};
export const CHUNK: AttachmentChunk = {
  sha256: HASH,
  index: 1,
  count: 3,
  size: 700_000,
  bytes: new Uint8Array(9).fill(7),
};

export const REQUEST: JsonObject = {
  kind: 'eval',
  request_id: 'one',
  requester: 'tester',
  contract: { kind: 'registered', id: 'repair', digest: HASH },
  repeats: 3,
  replicates: null,
  seed: 2 ** 48 - 1,
  concurrency: null,
  lessons: [],
  limits: { max_cost_nano_usd: 5_000_000_000 },
  deadline_ms: null,
  statistics: null,
  signature: null,
};

/** A value of each topic as the services write it. */
export async function valuesOf(): Promise<{
  readonly [T in Exclude<WireTopic, 'eval.ledger' | 'eval.attachment'>]: readonly JsonValue[];
}> {
  return {
    'eval.requested': [
      REQUEST,
      {
        ...REQUEST,
        contract: {
          kind: 'inline',
          toml: 'id = "repair"\n',
          archive: { sha256: HASH, size: 4, bytes: 'AAECAw==', url: null },
        },
        lessons: [{ lesson: `${EVAL}.0.on.1.1#4@${HASH}`, proof: { sha256: HASH, size: 900 } }],
        statistics: { primary: 'steps', alpha: 0.01, margin: null },
        signature: { keyid: HASH, sig: Buffer.alloc(64, 3).toString('base64'), audience: 'here', expires: AT },
      },
      { kind: 'cancel', eval_run_id: EVAL, reason: 'enough' },
    ],
    'eval.accepted': [
      {
        kind: 'eval',
        eval_run_id: EVAL,
        accepted_at: AT,
        from: 12,
        request: {
          kind: 'eval',
          requester: 'tester',
          request_id: 'one',
          contracts: [{ digest: HASH, contract: CONTRACT }],
          repeats: 3,
          replicates: 1,
          seed: 7,
          concurrency: 2,
          starting_lessons: [{ lesson: `${EVAL}.0.on.1.1#4@${HASH}`, proof: { sha256: HASH, size: 900 } }],
          max_cost_nano_usd: null,
          deadline_ms: 86_400_000,
          statistics: STATISTICS,
          files: [{ directory: '/somewhere', workspace: null }],
        },
      },
      { kind: 'cancel', eval_run_id: EVAL, reason: 'enough', accepted_at: AT },
    ],
    'eval.child-run.commands': [{ child_run_id: `${EVAL}.0.on.1.1`, files: [{ directory: 'x', workspace: 'y' }] }],
    'eval.index': [
      { eval_run_id: EVAL, from: 0, outcome: null },
      { eval_run_id: EVAL, from: 5_000_000_000, outcome: 'complete' },
    ],
    'eval.contract': [
      {
        contract_id: 'repair',
        digest: HASH,
        registered_at: AT,
        files: null,
        envelope: { ...toEnvelope(ENTRY) } as JsonObject,
      },
    ],
    'eval.report': [await aReport()],
    'eval.dead-letter': [
      {
        code: 'bad_request',
        reason: 'no such field',
        topic: 'eval.requested',
        partition: 2,
        position: 41,
        time: AT,
        bytes: 'AAECAw==',
        headers: [
          { key: 'ce_id', value: 'YQ==' },
          { key: 'ce_id', value: null },
        ],
      },
      {
        code: 'no_value',
        reason: 'it is empty',
        topic: 'eval.accepted',
        partition: 0,
        position: 0,
        time: AT,
        bytes: null,
        headers: [],
      },
    ],
  };
}

/** The report of a real evaluation, as the projector publishes it. */
export async function aReport(): Promise<JsonObject> {
  const entry = (await evaluate({ repeats: 2, replicates: 2 })).entries.find(({ type }) => type === 'eval_report');
  if (entry?.type !== 'eval_report') throw new Error('the evaluation has no report');
  const report = reportSchema.parse({ ...entry.body, report_ref: refOf(entry) });
  return JSON.parse(JSON.stringify({ ...report, envelope: toEnvelope(entry.envelope) })) as JsonObject;
}
