import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type LayeredPrompt, promptLayers } from '#lib/evaluation';
import { admitPublicKey, publicKeyFromSeed, sign, verifySignature } from '#ledger-crypto';
import { fromHex, toHex, utf8 } from './bytes.js';
import { pae } from './dsse.js';
import { genesisHash, keyId, type Entry, entryHash, PAYLOAD_TYPE, refOf, type SignedEntry } from './entry.js';
import { openEntry, typedEntry } from './open-entry.js';
import { parseEnvelopeLine, toEnvelope } from './envelope.js';
import { childRunId, evalRunId, type KeyId } from './ids.js';
import { canonicalJson, parseCanonicalJson } from './jcs.js';
import { emptyChains, fold } from './live-chain.js';
import {
  consistencyProof,
  inclusionProof,
  leafHash,
  merkleRoot,
  nodeHash,
  verifyConsistency,
  verifyInclusion,
} from './merkle.js';
import { sha256Hex } from './sha256.js';
import { mayWrite, type Role, ROLES } from './roles.js';
import { openTrustStore, trustStoreDigest, trustStoreSchema } from './trust-store.js';
import { BODIES, blobSchema, isEntryType } from './bodies.js';

const markdown = readFileSync(new URL('../../../docs/ledger-format.md', import.meta.url), 'utf8');
const examples = new Map<string, string>();
for (const [, block = ''] of markdown.matchAll(/^```example\n([\s\S]*?)\n```$/gm)) {
  for (const line of block.split('\n')) {
    const [name = '', value = ''] = line.split(/ = (.*)/s);
    if (examples.has(name)) throw new Error(`the example ${name} stands twice`);
    examples.set(name, value);
  }
}
const used = new Set<string>();

function example(name: string): string {
  const value = examples.get(name);
  if (value === undefined) throw new Error(`docs/ledger-format.md has no example ${name}`);
  used.add(name);
  return value;
}

const signerOf: Readonly<Record<string, 'coordinator' | 'executor'>> = {
  eval_started: 'coordinator',
  child_requested: 'coordinator',
  run_started: 'executor',
  writer_changed: 'executor',
  late: 'executor',
  infrastructure_failed: 'executor',
};

function record(name: string): SignedEntry {
  return {
    payloadType: PAYLOAD_TYPE,
    payload: utf8(example(`${name}_payload`)),
    keyid: example(`${signerOf[name]}_key_id`) as KeyId,
    signature: fromHex(example(`${name}_signature`)),
  };
}

function trustStore() {
  return trustStoreSchema.parse(parseCanonicalJson(utf8(example('trust_store'))));
}

function entry(name: string): Entry {
  const opened = openEntry(record(name), openTrustStore(trustStore()));
  if (opened.kind !== 'entry') throw new Error(`${name}: ${opened.reason}`);
  return typedEntry(opened.entry);
}

const childEntries = () =>
  ['run_started', 'writer_changed', 'infrastructure_failed'].map((name) => fromHex(example(`${name}_hash`)));

describe('docs/ledger-format.md', () => {
  test.each(['coordinator', 'executor', 'projector'] as const)('section 2: the key of the %s', (role) => {
    const publicKey = publicKeyFromSeed(fromHex(example(`${role}_seed`)));
    expect(toHex(publicKey)).toBe(example(`${role}_public_key`));
    expect(keyId(role, publicKey)).toBe(example(`${role}_key_id`));
  });

  test('section 4: the fields that may be erased are the long texts of all bodies', () => {
    const [, table = ''] = /fields that may be erased \|\n\|[-|]+\n((?:\|.*\n)+)/.exec(markdown) ?? [];
    const told = table
      .split('\n')
      .filter((row) => row !== '')
      .map((row) => [...row.matchAll(/`(\w+)`/g)].map(([, name]) => name));
    const long = Object.entries(BODIES).flatMap(([type, shape]) => {
      const fields = 'shape' in shape ? Object.entries(shape.shape) : [];
      const texts = fields.filter(([, field]) => field === blobSchema).map(([name]) => name);
      return texts.length === 0 ? [] : [[type, ...texts]];
    });
    expect(told).toEqual(long);
  });

  test('section 2: the trust store opens and has the digest', () => {
    expect(openTrustStore(trustStore()).keys).toHaveLength(3);
    expect(trustStoreDigest(trustStore())).toBe(example('trust_store_digest'));
  });

  test('section 2: the table of roles is the one that is enforced', () => {
    const rows = [...markdown.matchAll(/^\| `(coordinator|executor|projector|requester)` \| (.*?) \| (.*?) \|$/gm)];
    expect(rows.map(([, role]) => role)).toEqual(ROLES);
    for (const [, role = '', evaluation = '', child = ''] of rows) {
      for (const [kind, cell] of [
        ['evaluation', evaluation],
        ['child', child],
      ] as const) {
        const listed = [...cell.matchAll(/`(\w+)`/g)].map(([, type]) => type);
        const allowed = Object.keys(BODIES).filter((type) => isEntryType(type) && mayWrite(role as Role, kind, type));
        expect(listed.toSorted()).toEqual(allowed.toSorted());
      }
    }
  });

  test('section 3: the points of small order, the mixed key and the larger S are refused', () => {
    for (const index of [0, 1, 2, 3, 4]) {
      const y = fromHex(example(`small_order_y_${index}`));
      expect(() => admitPublicKey(y)).toThrow('not of small order');
    }
    expect(() => admitPublicKey(fromHex(example('mixed_order_key')))).toThrow('prime-order subgroup');
    const message = fromHex(example('pae'));
    const publicKey = fromHex(example('executor_public_key'));
    expect(verifySignature(publicKey, message, fromHex(example('infrastructure_failed_signature')))).toBe(true);
    expect(verifySignature(publicKey, message, fromHex(example('signature_plus_l')))).toBe(false);
  });

  test('section 4: the ids and the genesis', () => {
    const evaluation = evalRunId('docs', 'example-1');
    expect(evaluation).toBe(example('eval_run_id'));
    expect(childRunId({ eval: evaluation, contract: 0, arm: 'on', replicate: 1, repeat: 1 })).toBe(
      example('child_run_id'),
    );
    expect(genesisHash(evaluation)).toBe(example('genesis'));
  });

  test('section 4: the PAE', () => {
    expect(toHex(pae(PAYLOAD_TYPE, record('infrastructure_failed').payload))).toBe(example('pae'));
  });

  test.each(Object.entries(signerOf))(
    'sections 4 and 6: the entry %s is signed, hashed and formed as written',
    (name, role) => {
      const { payload, signature } = record(name);
      expect(toHex(sign(fromHex(example(`${role}_seed`)), pae(PAYLOAD_TYPE, payload)))).toBe(toHex(signature));
      expect(entryHash(record(name))).toBe(example(`${name}_hash`));
      expect(entry(name).hash).toBe(example(`${name}_hash`));
    },
  );

  test('section 4: what an agent was told', () => {
    const prompt = JSON.parse(example('prompt')) as LayeredPrompt;
    expect(sha256Hex(utf8(example('prompt')))).toBe(example('prompt_digest'));
    expect(canonicalJson(promptLayers(prompt, Number(example('lesson_bytes'))))).toBe(example('layers'));
    const { settings, transcript } = JSON.parse(example('layers')) as Record<string, string>;
    expect(sha256Hex(utf8(example('settings_text')))).toBe(settings);
    expect(sha256Hex(utf8(example('transcript_text')))).toBe(transcript);
    expect(canonicalJson(parseCanonicalJson(utf8(example('context_text'))))).toBe(example('context_text'));
    expect(sha256Hex(utf8(example('context_text')))).toBe(example('context'));
  });

  test('section 5: leaves, root and proofs', () => {
    const hashes = childEntries();
    const leaves = hashes.map(leafHash);
    const [first, second, third] = leaves as [Uint8Array, Uint8Array, Uint8Array];
    expect(leaves.map(toHex).join(' ')).toBe(example('leaf_hashes'));
    expect(toHex(nodeHash(first, second))).toBe(example('left_node'));
    expect(toHex(nodeHash(nodeHash(first, second), third))).toBe(example('root_hash'));
    const root = fromHex(example('root_hash'));
    expect(merkleRoot(hashes)).toEqual(root);
    const inclusion = example('inclusion_proof_1')
      .split(' ')
      .map((hex) => fromHex(hex));
    expect(inclusionProof(hashes, 1)).toEqual(inclusion);
    expect(verifyInclusion({ index: 1, size: 3, leafHash: second, proof: inclusion, root })).toBe(true);
    const consistency = example('consistency_proof_2_3')
      .split(' ')
      .map((hex) => fromHex(hex));
    const root1 = fromHex(example('root_of_first_2'));
    expect(consistencyProof(hashes, 2)).toEqual(consistency);
    expect(merkleRoot(hashes.slice(0, 2))).toEqual(root1);
    expect(verifyConsistency({ size1: 2, size2: 3, proof: consistency, root1, root2: root })).toBe(true);
  });

  test('section 6: the log is judged as written', () => {
    const live = emptyChains(evalRunId('docs', 'example-1'));
    const judged = example('log_order')
      .split(' ')
      .map((name) => fold(live, entry(name)));
    expect(judged.join(' ')).toBe(example('joining'));
    expect(refOf(entry('run_started'))).toBe(example('run_started_ref'));
  });

  test('section 7: the line of an export', () => {
    const line = example('envelope');
    expect(JSON.stringify(toEnvelope(record('infrastructure_failed')))).toBe(line);
    expect(parseEnvelopeLine(utf8(line))).toEqual(record('infrastructure_failed'));
  });

  test('no example is left unchecked', () => {
    expect([...examples.keys()].filter((name) => !used.has(name))).toEqual([]);
    expect(examples.size).toBeGreaterThan(40);
  });
});
