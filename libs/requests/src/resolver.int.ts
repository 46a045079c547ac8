import fc from 'fast-check';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { describe, expect, test } from 'vitest';
import { contractSchema } from '#lib/contract';
import { type EvalRequested, evalRequestedSchema, evaluationOf, requestDigest } from '#lib/evaluation';
import { LogError, type TopicRecord } from '#lib/event-log';
import { evalRunId, type Signer, utf8 } from '#lib/ledger';
import { makeSigner } from '../../event-log/src/fixtures.testkit.js';
import { planOfRequest } from './plan.js';
import { registrationKey, signRegistration } from './registration.js';
import {
  ana,
  AUDIENCE,
  ben,
  constant,
  deployment,
  inline,
  NOW,
  packed,
  PROGRAM,
  request,
  retired,
  sha256,
} from './requests.testkit.js';
import type { OutsideRequest } from './shape.js';
import { signCancel, signRequest } from './sign.js';

const HOUR = 3_600_000;

function signed(part: Partial<OutsideRequest> = {}, signer: Signer = ana, audience = AUDIENCE, expires = NOW + HOUR) {
  const { signature: _none, ...asked } = request(part);
  return signRequest(asked, signer, { audience, expires });
}

async function refusal(value: unknown, at = deployment()) {
  const judged = await at.resolve(value);
  return judged.kind === 'refused'
    ? judged
    : expect.fail(`it was not refused: ${JSON.stringify(judged).slice(0, 200)}`);
}

describe('a signed contract that comes with its request', () => {
  test('is resolved to the plan that the command line would make', async () => {
    const judged = await deployment().resolve(await signed({ replicates: 3 }));
    expect(evalRequestedSchema.parse(judged)).toMatchObject({
      requester: 'ana',
      request_id: 'one',
      repeats: 1,
      replicates: 3,
      concurrency: 3,
      seed: 7,
      deadline_ms: 24 * HOUR,
      statistics: { primary: 'pass_rate', alpha: 0.05, method_version: 1 },
      files: [],
    });
  });

  test('travels as attachments, which executors find by the hints, and nothing of it stays on the disk', async () => {
    const contract = await packed(PROGRAM);
    const at = deployment();
    const judged = await at.resolve(await signed({ contract: inline(contract) }));
    const archive = contract.archive ?? expect.fail('no archive');
    expect(judged).toMatchObject({
      contracts: [{ digest: contract.digest }],
      files: [{ toml: { sha256: sha256(utf8(contract.toml)) }, archive: { sha256: archive.sha256, url: null } }],
    });
    expect(await at.log.attachment(archive.sha256)).toEqual(new Uint8Array(archive.bytes));
    expect((await readdir(tmpdir())).filter((name) => name.startsWith('truss-contract-'))).toEqual([]);
  });

  test('asked for again, signed anew, is the same request', async () => {
    const at = deployment();
    const digests = [];
    for (const expires of [NOW + 1, NOW + HOUR]) {
      digests.push(
        requestDigest(evalRequestedSchema.parse(await at.resolve(await signed({}, ana, AUDIENCE, expires)))),
      );
    }
    digests.push(requestDigest(evalRequestedSchema.parse(await deployment().resolve(await signed()))));
    expect(new Set(digests).size).toBe(1);
    const other = evalRequestedSchema.parse(await at.resolve(await signed({ seed: 8 })));
    expect(digests).not.toContain(requestDigest(other));
  });

  test('says more of the plan than its contract where it says it', async () => {
    const statistics = { primary: 'steps', alpha: 0.1, margin: null } as const;
    const judged = await deployment().resolve(
      await signed({ statistics, deadline_ms: HOUR, concurrency: 2, limits: { max_cost_nano_usd: 5 } }),
    );
    expect(judged).toMatchObject({ statistics: { primary: 'steps', alpha: 0.1, margin: 0.1 }, deadline_ms: HOUR });
    expect(judged).toMatchObject({ concurrency: 2, max_cost_nano_usd: 5 });
  });
});

describe('a signature counts only', () => {
  test.each<[string, string, () => Promise<OutsideRequest> | OutsideRequest]>([
    ['where there is one', 'signature_needed', () => request()],
    ['of a key of this deployment', 'key_not_accepted', () => signed({}, makeSigner('requester', 'stranger'))],
    ['of a requester', 'key_not_accepted', () => signed({}, makeSigner('coordinator'))],
    ['of a key that is not retired', 'key_not_accepted', () => signed({ requester: 'retired' }, retired)],
    ['for its own requester', 'requester_mismatch', () => signed({ requester: 'ana' }, ben)],
    ['for this deployment', 'audience_mismatch', () => signed({}, ana, 'another')],
    ['until it expires', 'signature_expired', () => signed({}, ana, AUDIENCE, NOW)],
    ['over this content', 'signature_invalid', async () => ({ ...(await signed()), seed: 8 })],
    [
      'over this contract',
      'signature_invalid',
      async () => ({ ...(await signed()), contract: { kind: 'inline', toml: constant('# x'), archive: null } }),
    ],
    [
      'over this audience',
      'signature_invalid',
      async () => {
        const one = await signed({}, ana, 'another');
        return { ...one, signature: { ...(one.signature as NonNullable<typeof one.signature>), audience: AUDIENCE } };
      },
    ],
    [
      'over this expiry',
      'signature_invalid',
      async () => {
        const one = await signed({}, ana, AUDIENCE, NOW - 1);
        return { ...one, signature: { ...(one.signature as NonNullable<typeof one.signature>), expires: NOW + HOUR } };
      },
    ],
    [
      'as 64 canonical bytes',
      'signature_invalid',
      async () => {
        const one = await signed();
        return {
          ...one,
          signature: { ...(one.signature as NonNullable<typeof one.signature>), sig: `${'/'.repeat(86)}==` },
        };
      },
    ],
  ])('%s', async (_what, code, make) => {
    expect(await refusal(await make())).toMatchObject({ code });
  });

  test('whatever fields a later schema adds, as long as they are null', async () => {
    const { lessons: _lessons, ...rest } = await signed();
    const old = await signed();
    expect((await deployment().resolve({ ...rest, lessons: [] })).kind).toBe('eval');
    expect((await deployment().resolve({ ...old, statistics: null })).kind).toBe('eval');
  });

  test('and is asked of every request where the deployment says so', async () => {
    const at = deployment({ signedOnly: true });
    const contract = { kind: 'registered', id: 'constant', digest: 'a'.repeat(64) } as const;
    expect(await refusal(request({ contract }), at)).toMatchObject({ code: 'signature_needed' });
  });
});

describe('a cancel', () => {
  /** An evaluation that was accepted for somebody, and its cancel. */
  async function world(requester: string, part: Parameters<typeof deployment>[0] = {}) {
    const at = deployment(part);
    const asked = await packed({ 'contract.toml': constant() });
    const request: EvalRequested = {
      kind: 'eval',
      requester,
      request_id: 'one',
      ...planOfRequest(asked, { repeats: 1 }),
      seed: 7,
      concurrency: 1,
      starting_lessons: [],
      files: [],
    };
    const eval_run_id = evaluationOf(request);
    const accepted = { kind: 'eval', eval_run_id, accepted_at: NOW, from: 0, request } as const;
    await at.topics.publish('eval.accepted', eval_run_id, accepted);
    const cancel = { kind: 'cancel', eval_run_id, reason: 'enough' } as const;
    const by = (signer: Signer, audience = AUDIENCE, expires = NOW + HOUR) =>
      signCancel(cancel, signer, { audience, expires });
    return { at, cancel, by };
  }

  test('by a key of the one who asked is taken, and its signature goes no further', async () => {
    const { at, cancel, by } = await world('ana', { signedOnly: true });
    expect(await at.resolve(await by(ana))).toStrictEqual(cancel);
  });

  test('of an evaluation whose requester has no key needs none', async () => {
    const { at, cancel } = await world('anybody');
    expect(await at.resolve(cancel)).toStrictEqual(cancel);
  });

  test.each<[string, string, (at: Awaited<ReturnType<typeof world>>) => unknown]>([
    ['without a signature, though its requester has a key', 'signature_needed', ({ cancel }) => cancel],
    ['by another requester', 'requester_mismatch', ({ by }) => by(ben)],
    ['by nobody that is trusted', 'key_not_accepted', ({ by }) => by(makeSigner('requester', 'stranger'))],
    ['by a key of another role', 'key_not_accepted', ({ by }) => by(makeSigner('coordinator'))],
    ['for another deployment', 'audience_mismatch', ({ by }) => by(ana, 'another')],
    ['after it has expired', 'signature_expired', ({ by }) => by(ana, AUDIENCE, NOW)],
    ['with another reason', 'signature_invalid', async ({ by }) => ({ ...(await by(ana)), reason: 'more' })],
    [
      'of another evaluation',
      'not_found',
      async ({ by }) => ({ ...(await by(ana)), eval_run_id: evalRunId('ana', 'two') }),
    ],
  ])('%s is refused', async (_what, code, make) => {
    const made = await world('ana');
    expect(await refusal(await make(made), made.at)).toMatchObject({ code });
  });

  test('without a signature is refused of whomever where the deployment takes nothing unsigned', async () => {
    const { at, cancel } = await world('anybody', { signedOnly: true });
    expect(await refusal(cancel, at)).toMatchObject({ code: 'signature_needed' });
  });

  test('is not signed by the signature of a request, nor the other way round', async () => {
    const { at, cancel, by } = await world('ana');
    const { signature } = await signed();
    expect(await refusal({ ...cancel, signature }, at)).toMatchObject({ code: 'signature_invalid' });
    expect(await refusal({ ...request(), signature: (await by(ana)).signature }, at)).toMatchObject({
      code: 'signature_invalid',
    });
  });
});

describe('a registered contract', () => {
  async function registered(at = deployment(), signer: Signer = ana, audience = AUDIENCE) {
    const contract = await packed(PROGRAM);
    const archive = contract.archive ?? expect.fail('no archive');
    await at.log.putAttachment(archive.bytes);
    const pinned = { sha256: archive.sha256, size: archive.bytes.length, url: null };
    const { toml, digest } = contract;
    const value = await signRegistration({ id: 'constant', digest, toml, archive: pinned }, signer, {
      audience,
      now: NOW,
    });
    await at.topics.publish('eval.contract', registrationKey({ id: 'constant', digest }), value);
    return { at, digest, contract: { kind: 'registered', id: 'constant', digest } as const, value };
  }

  test('may be asked for without a signature, by its id and digest', async () => {
    const { at, contract, digest } = await registered();
    expect(await at.resolve(request({ contract, requester: 'anybody' }))).toMatchObject({ contracts: [{ digest }] });
  });

  test('is found though it was registered a moment after somebody asked for it in vain', async () => {
    const at = deployment();
    const digest = 'a'.repeat(64);
    await refusal(request({ contract: { kind: 'registered', id: 'constant', digest } }), at);
    const { contract } = await registered(at);
    expect((await at.resolve(request({ contract }))).kind).toBe('eval');
  });

  test.each<[string, () => ReturnType<typeof registered>]>([
    ['by nobody that is trusted', () => registered(deployment(), makeSigner('requester', 'stranger'))],
    ['by a key of another role', () => registered(deployment(), makeSigner('executor'))],
    ['by a key that is retired', () => registered(deployment(), retired)],
    ['for another deployment', () => registered(deployment(), ana, 'another')],
  ])('registered %s is none', async (_what, make) => {
    const { at, contract } = await make();
    expect(await refusal(request({ contract }), at)).toMatchObject({ code: 'contract_not_registered' });
  });

  test('takes none away: every registration has a key of its own, so that compaction keeps each', async () => {
    const { at, contract } = await registered();
    const { toml, digest } = await packed({ 'contract.toml': constant() });
    const other = { id: 'constant', digest, toml, archive: null };
    const byBen = await signRegistration(other, ben, { audience: AUDIENCE, now: NOW });
    await at.topics.publish('eval.contract', registrationKey(other), byBen);
    const latest = new Map<string, TopicRecord>();
    for await (const record of at.topics.list('eval.contract')) latest.set(record.key, record);
    const compacted = deployment({
      log: at.log,
      topics: {
        async *list(topic) {
          if (topic === 'eval.contract') yield* latest.values();
        },
      },
    });
    for (const one of [contract, { kind: 'registered', id: 'constant', digest } as const]) {
      expect((await compacted.resolve(request({ contract: one }))).kind).toBe('eval');
    }
  });

  test('under another id or digest is none, and so is one that was tampered with or taken back', async () => {
    const { at, contract, value } = await registered();
    for (const other of [
      { ...contract, id: 'other' },
      { ...contract, digest: 'b'.repeat(64) },
    ]) {
      expect(await refusal(request({ contract: other }), at)).toMatchObject({ code: 'contract_not_registered' });
    }
    const tampered = deployment();
    const changed = JSON.parse(JSON.stringify(value).replace('"payload":"', '"payload":"AAAA'));
    const key = registrationKey(contract);
    await tampered.topics.publish('eval.contract', key, changed);
    await tampered.topics.publish('eval.contract', key, 'rubbish');
    await tampered.topics.publish('eval.contract', 'elsewhere', value);
    expect(await refusal(request({ contract }), tampered)).toMatchObject({ code: 'contract_not_registered' });
    const taken = await registered();
    await taken.at.topics.publish('eval.contract', registrationKey(taken.contract), null);
    expect(await refusal(request({ contract }), taken.at)).toMatchObject({ code: 'contract_not_registered' });
  });
});

describe('a request that cannot be run is refused with a code and one sentence', () => {
  const toml = (more: string, change = (text: string) => text) =>
    signed({ contract: { kind: 'inline', toml: change(constant(more)), archive: null } });
  test.each<[string, string, () => Promise<unknown>]>([
    [
      'too few cases',
      'cases_too_few',
      () =>
        signed({ contract: { kind: 'inline', toml: `${constant()}[[cases]]\nid = "a"\n`, archive: null }, repeats: 2 }),
    ],
    ['no number of repeats', 'repeats_missing', () => signed({ repeats: null })],
    ['more runs than a report can hold', 'plan_too_large', () => signed({ repeats: 1_000_000, replicates: 1000 })],
    ['a deadline beyond what topics keep', 'deadline_too_long', () => signed({ deadline_ms: 73 * HOUR })],
    [
      'a cost limit on an unknown price',
      'price_unknown',
      () =>
        signed({
          contract: {
            kind: 'inline',
            toml:
              constant().replace('kind = "fixed"\nanswer_text = "yes"', 'kind = "llm"\nprovider = "p"\ntools = []') +
              '[providers.p]\nkind = "openai-compatible"\nbase_url = "http://127.0.0.1:8089/v1"\nmodel = "nobody-knows-it"\n',
            archive: null,
          },
          limits: { max_cost_nano_usd: 1_000 },
        }),
    ],
    [
      'a recording that would grow',
      'contract_unsupported',
      () =>
        signed({
          contract: {
            kind: 'inline',
            toml:
              constant().replace('kind = "fixed"\nanswer_text = "yes"', 'kind = "llm"\nprovider = "p"\ntools = []') +
              '[providers.p]\nkind = "replay"\nfile = "r.jsonl"\nrecord_from = "q"\n[providers.q]\nkind = "openai-compatible"\nbase_url = "http://127.0.0.1:8089/v1"\nmodel = "m"\n',
            archive: null,
          },
        }),
    ],
    ['a contract that is no TOML', 'contract_invalid', () => toml('= [[[')],
    ['a contract that is nested beyond measure', 'contract_invalid', () => toml(`x = ${'['.repeat(200_000)}`)],
    ['a contract with a key of its own', 'contract_invalid', () => toml('evil = 1')],
    ['a contract with a prototype', 'contract_invalid', () => toml('__proto__ = 1')],
    [
      'a workspace that is not in the archive',
      'contract_invalid',
      () => toml('', (text) => `${text}[workspace]\npath = "work"\n`),
    ],
    [
      'a workspace somewhere else',
      'contract_invalid',
      () => toml('', (text) => `${text}[workspace]\npath = "../../../etc"\n`),
    ],
    ['cases somewhere else', 'contract_invalid', () => toml('cases_file = "/etc/passwd"')],
    [
      'an archive that is not what it says',
      'archive_mismatch',
      async () => {
        const contract = inline(await packed(PROGRAM));
        if (contract.kind !== 'inline' || contract.archive === null) throw new Error('no archive');
        return signed({ contract: { ...contract, archive: { ...contract.archive, sha256: 'a'.repeat(64) } } });
      },
    ],
    [
      'an archive that is none',
      'archive_malformed',
      async () => {
        const bytes = Buffer.from('nothing');
        return signed({
          contract: {
            kind: 'inline',
            toml: constant(),
            archive: { sha256: sha256(bytes), size: 7, bytes: bytes.toString('base64'), url: null },
          },
        });
      },
    ],
    [
      'an archive from somewhere else',
      'archive_not_allowed',
      () =>
        signed({
          contract: {
            kind: 'inline',
            toml: constant(),
            archive: { sha256: 'a'.repeat(64), size: 1, bytes: null, url: 'https://evil.test/a' },
          },
        }),
    ],
    [
      'a lesson without its proof',
      'lesson_unverified',
      () =>
        signed({
          lessons: [
            { lesson: `ev_${'0'.repeat(32)}#1@${'0'.repeat(64)}`, proof: { sha256: 'a'.repeat(64), size: 3 } },
          ] as never,
        }),
    ],
    ['a cancel of nothing', 'bad_id', async () => ({ kind: 'cancel', eval_run_id: 'x', reason: 'y' })],
    ['a cancel without a reason', 'bad_request', async () => ({ kind: 'cancel', eval_run_id: 'x' })],
  ])('%s', async (_what, code, make) => {
    const refused = await refusal(await make());
    expect(refused.code).toBe(code);
    expect(refused.reason).not.toMatch(/\n|\/tmp|truss-contract-/);
    expect(refused.reason.length).toBeLessThan(600);
  });

  test.each<[string, unknown]>([
    ['nothing', null],
    ['a number', 7],
    ['a text', 'run this'],
    ['a list', [request()]],
    ['no kind', { ...request(), kind: undefined }],
    ['another kind', { ...request(), kind: 'drop' }],
    ['a field too many', { ...request(), files: [{ directory: '/', workspace: null }] }],
    ['a field too few', { ...request(), seed: undefined }],
    ['half a repeat', request({ repeats: 0.5 })],
    ['repeats beyond measure', request({ repeats: 2 ** 60 })],
    ['a seed below zero', request({ seed: -1 })],
    ['a name with a NUL', request({ requester: 'a\0b' })],
    ['a name without end', request({ request_id: 'x'.repeat(1e6) })],
    ['a contract of both kinds', request({ contract: { kind: 'inline', toml: 'x', archive: null, id: 'y' } as never })],
    ['a contract without end', request({ contract: { kind: 'inline', toml: 'x'.repeat(600_000), archive: null } })],
    [
      'an archive in no place',
      request({
        contract: { kind: 'inline', toml: 'x', archive: { sha256: 'a'.repeat(64), size: 1, bytes: null, url: null } },
      }),
    ],
    [
      'an archive in two places',
      request({
        contract: {
          kind: 'inline',
          toml: 'x',
          archive: { sha256: 'a'.repeat(64), size: 1, bytes: 'AAAA', url: 'https://a.test/' },
        },
      }),
    ],
    [
      'an archive too large to stand in a request',
      request({
        contract: {
          kind: 'inline',
          toml: 'x',
          archive: { sha256: 'a'.repeat(64), size: 1, bytes: 'A'.repeat(400_000), url: null },
        },
      }),
    ],
    ['an alpha that is no level', request({ statistics: { primary: null, alpha: 1, margin: null } })],
  ])('%s', async (_what, value) => {
    const refused = await refusal(value);
    expect(refused.code).toBe('bad_request');
    expect(refused.reason).not.toContain('\n');
  });

  test('whatever JSON comes, it is answered and nothing is thrown', async () => {
    const at = deployment();
    const good = await signed();
    const keys = Object.keys(good);
    const anything = fc.oneof(
      fc.jsonValue({ maxDepth: 4 }),
      fc.tuple(fc.constantFrom(...keys), fc.jsonValue()).map(([key, value]) => ({ ...good, [key]: value })),
    );
    await fc.assert(
      fc.asyncProperty(anything, async (value) => {
        const judged = await at.resolve(value);
        expect(['refused', 'eval']).toContain(judged.kind);
      }),
      { numRuns: 300 },
    );
  });
});

test('an error of the log is no fault of the request: it is thrown, and not a refusal', async () => {
  const failing = () => Promise.reject(new LogError('log_unreadable', 'the broker is away'));
  const base = deployment();
  const at = deployment({
    log: { attachment: failing, putAttachment: failing, records: base.log.records.bind(base.log) },
  });
  await expect(at.resolve(await signed({ contract: inline(await packed(PROGRAM)) }))).rejects.toThrow(
    'the broker is away',
  );
  const topics = {
    list: () => ({ [Symbol.asyncIterator]: () => ({ next: failing }) }),
  };
  const contract = { kind: 'registered', id: 'constant', digest: 'a'.repeat(64) } as const;
  await expect(deployment({ topics }).resolve(request({ contract }))).rejects.toThrow('the broker is away');
});

test('what a contract means here is what it means at home', async () => {
  const contract = await packed(PROGRAM);
  const judged = evalRequestedSchema.parse(await deployment().resolve(await signed({ contract: inline(contract) })));
  expect(contractSchema.parse(judged.contracts[0]?.contract)).toEqual(contract.contract);
});
