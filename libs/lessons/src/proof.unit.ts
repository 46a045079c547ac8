import { beforeAll, describe, expect, test } from 'vitest';
import { openTrustStore, type LedgerRef, refOf, toBase64, toEnvelope, utf8, utf8Decode } from '#lib/ledger';
import { coordinator, executor, keys, makeSigner, makeTrustStore } from '../../event-log/src/fixtures.testkit.js';
import { LessonError } from './errors.js';
import { type Ran, runWithLesson, type Script } from './fixtures.testkit.js';
import { buildLessonProof, type LessonProof } from './proof.js';
import type { ProofPolicy } from './promotion-proof.js';
import { type ProofResult, verifyLessonProof } from './verify-proof.js';

const prove = ({ lesson, chain, anchor }: Ran): LessonProof => buildLessonProof(lesson, chain, anchor);
const verify = (proof: LessonProof, policy: Partial<ProofPolicy> = {}): ProofResult =>
  verifyLessonProof(proof, { keys, ...policy });
const refused = (fault: string, reason = ''): object => ({
  ok: false,
  code: 'lesson_unverified',
  fault,
  reason: expect.stringMatching(new RegExp(`^${fault}: .*${reason}`, 'u')),
});
const scripted = async (script: Script, policy: Partial<ProofPolicy> = {}): Promise<ProofResult> =>
  verify(prove(await runWithLesson(script)), policy);

let honest: Ran;
let proof: LessonProof;
beforeAll(async () => {
  honest = await runWithLesson();
  proof = prove(honest);
});

/** The proof with other bytes in one payload, its signature kept. */
function tampered(seq: number, from: string, to: string): LessonProof {
  const entries = proof.entries.map((one) => {
    if (one.seq !== seq) return one;
    const payload = utf8Decode(Buffer.from(one.envelope.payload, 'base64'));
    expect(payload).toContain(from);
    return { ...one, envelope: { ...one.envelope, payload: toBase64(utf8(payload.replace(from, to))) } };
  });
  return { ...proof, entries };
}
const seqOf = (type: string): number => honest.chain.findIndex((entry) => entry.type === type);

describe('an honest lesson', () => {
  test('is verified by its proof alone, with its verdict, promotion and anchor', () => {
    const result = verify(proof, { expectLesson: honest.lesson, gates: ['verdict', 'checks', 'panel'], quorum: 2 });
    expect(result).toMatchObject({
      ok: true,
      held: { ref: honest.lesson, lesson: { title: 'Look at loop bounds first' } },
    });
    expect(result.ok && [result.verdict.body.verdict, refOf(result.anchor)]).toEqual(['pass', refOf(honest.anchor)]);
  });

  test('needs no transcript but its evidence: the proof leaves the seal out', () => {
    expect(proof.entries.map(({ seq }) => seq)).not.toContain(honest.chain.length - 1);
    expect(proof.entries.length).toBe(honest.chain.length - 1);
  });

  test('verifies without a panel where neither the promotion nor the reader asks for one', async () => {
    expect(await scripted({ gates: ['verdict', 'checks'], votes: [], quorum: 0 })).toMatchObject({ ok: true });
  });

  test('verifies where evidence is an attachment that is not here, and takes judged bodies from the attachments', async () => {
    const large = await runWithLesson({ note: 'x'.repeat(70_000), lesson: { text: 'y'.repeat(70_000) } });
    const whole = prove(large);
    expect(whole.attachments).toHaveLength(1);
    expect(verify(whole)).toMatchObject({ ok: true });
    expect(verify({ ...whole, attachments: [] })).toEqual(refused('attachment'));
    expect(verify({ ...whole, attachments: [toBase64(utf8('{}'))] })).toEqual(refused('attachment'));
  });
});

describe('a tampered proof is refused', () => {
  test('when the text of the lesson was changed', () => {
    expect(verify(tampered(seqOf('lesson_extracted'), 'off-by-one', 'off-by-two'))).toEqual(refused('signature'));
  });

  test('when a vote was turned', () => {
    const seq = honest.chain.findIndex((entry) => entry.type === 'lesson_reviewed' && entry.body.vote === 'reject');
    expect(verify(tampered(seq, '"vote":"reject"', '"vote":"approve"'))).toEqual(refused('signature'));
  });

  test('when the anchor was changed', () => {
    const payload = utf8Decode(Buffer.from(proof.anchor.payload, 'base64')).replace('"pass"', '"fail"');
    expect(verify({ ...proof, anchor: { ...proof.anchor, payload: toBase64(utf8(payload)) } })).toEqual(
      refused('signature'),
    );
  });

  test('when a vote was left out', () => {
    const seq = seqOf('lesson_reviewed');
    expect(verify({ ...proof, entries: proof.entries.filter((one) => one.seq !== seq) })).toEqual(refused('votes'));
  });

  test('when a vote is given twice', () => {
    const entries = proof.entries.flatMap((one) => (one.seq === seqOf('lesson_reviewed') ? [one, one] : [one]));
    expect(verify({ ...proof, entries })).toEqual(refused('inclusion'));
  });

  test('when a check or a piece of evidence was left out', () => {
    const without = (type: string): LessonProof => ({
      ...proof,
      entries: proof.entries.filter((one) => one.seq !== seqOf(type)),
    });
    expect(verify(without('lesson_checked'))).toEqual(refused('checks'));
    expect(verify(without('criterion_checked'))).toEqual(refused('evidence'));
    expect(verify(without('verdict'))).toEqual(refused('evidence'));
    expect(verify(without('run_started'))).toEqual(refused('evidence', 'run_started'));
    expect(verify(without('lesson_promoted'))).toEqual(refused('not_promoted'));
    expect(verify(without('lesson_extracted'))).toEqual(refused('lesson_ref'));
  });

  test('when an inclusion proof, the size or the position does not fit', () => {
    const change = (at: Partial<LessonProof['entries'][number]>): LessonProof => ({
      ...proof,
      entries: proof.entries.map((one, index) => (index === 3 ? { ...one, ...at } : one)),
    });
    expect(verify(change({ proof: [] }))).toEqual(refused('inclusion'));
    expect(verify(change({ seq: 2 }))).toEqual(refused('inclusion'));
    expect(verify({ ...proof, size: proof.size + 1 })).toEqual(refused('origin_anchor'));
    expect(verify(change({ proof: ['!'] }))).toEqual(refused('malformed'));
  });

  test("when entries of another replicate's run stand under this anchor, or its anchor over these", async () => {
    const other = await runWithLesson({ evaluation: honest.anchor.eval, replicate: 2 });
    const theirs = prove(other);
    expect(verify({ ...theirs, anchor: proof.anchor, size: proof.size })).toEqual(refused('ledger'));
    expect(verify({ ...proof, anchor: theirs.anchor })).toEqual(refused('ledger'));
    expect(verify(theirs, { expectLesson: honest.lesson })).toEqual(refused('lesson_ref'));
    expect(verify({ ...proof, lesson: other.lesson })).toEqual(refused('lesson_ref'));
  });

  test('when the anchor is of another evaluation', async () => {
    const other = prove(await runWithLesson());
    expect(verify({ ...proof, evaluation: other.evaluation })).toEqual(refused('origin_anchor'));
  });

  test('when the anchor is no anchor, or not by a coordinator', () => {
    expect(verify({ ...proof, anchor: toEnvelope(honest.parent[0]!.envelope) })).toEqual(
      refused('origin_anchor', 'eval_started'),
    );
    expect(verify({ ...proof, anchor: toEnvelope(honest.chain[0]!.envelope) })).toEqual(refused('role'));
  });

  test('when a coordinator wrote in place of an executor', () => {
    const entries = proof.entries.map((one, index) =>
      index === 0 ? { ...one, envelope: toEnvelope(honest.parent[0]!.envelope) } : one,
    );
    expect(verify({ ...proof, entries })).toEqual(refused('role'));
  });

  test('when the reader does not trust the executor', () => {
    const others = openTrustStore(makeTrustStore(coordinator, makeSigner('executor', 'another')));
    expect(verify(proof, { keys: others })).toEqual(refused('signature', executor.keyId));
  });
});

describe('a lesson that was not rightly promoted is refused, however well signed', () => {
  test.each<[string, Script, string]>([
    [
      'without a quorum',
      {
        votes: [
          ['one', 'approve'],
          ['two', 'abstain'],
        ],
      },
      'quorum',
    ],
    ['with a panel of quorum 0', { votes: [], quorum: 0 }, 'quorum'],
    [
      'with one reviewer counted twice',
      {
        votes: [
          ['one', 'approve'],
          ['one', 'approve'],
        ],
      },
      'votes',
    ],
    ['with a vote listed twice', { listedVotes: ([first, ...rest]) => [first!, first!, ...rest.slice(1)] }, 'votes'],
    ['with a vote that is not listed', { listedVotes: (votes) => votes.slice(1) }, 'votes'],
    ['that was rejected', { end: 'rejected' }, 'rejected'],
    ['that was promoted and rejected', { end: 'both' }, 'rejected'],
    ['that was never promoted', { end: 'neither' }, 'not_promoted'],
    ['that was promoted twice', { end: 'twice' }, 'not_promoted'],
    ['with a failed check', { failedCheck: 'instructions' }, 'checks'],
    ['without each of the checks', { skippedCheck: 'instructions' }, 'checks'],
    ['without the check of its verdict', { skippedCheck: 'verdict' }, 'checks'],
    ['with no gate', { gates: [] }, 'gates'],
    ['of a run that failed', { verdict: 'fail' }, 'verdict'],
    ['of a run that could not be decided', { verdict: 'unverifiable' }, 'verdict'],
    ['with another digest', { digest: 'f'.repeat(64) }, 'digest'],
    ['with more trust than its label', { lesson: { labelled_by: 'panel', trust: 'machine' } }, 'trust'],
    ['that does not rest on the verdict', { evidence: (own) => own.slice(0, 2) }, 'evidence'],
  ])('%s', async (_, script, fault) => {
    expect(await scripted(script)).toEqual(refused(fault));
  });

  test('when the reader asks for more than the promotion did', async () => {
    const lax: Script = { gates: ['verdict', 'checks'], votes: [], quorum: 0 };
    expect(await scripted(lax, { gates: ['panel'] })).toEqual(refused('gates', 'panel'));
    expect(await scripted(lax, { quorum: 1 })).toEqual(refused('quorum'));
    expect(verify(proof, { quorum: 3 })).toEqual(refused('quorum', '2 approved, 3 must'));
  });
});

describe('building a proof', () => {
  const broken = expect.objectContaining({ code: 'lesson_not_in_chain' });

  test('refuses a chain that does not hold the lesson or is not the anchored one', async () => {
    const other = await runWithLesson();
    expect(() => buildLessonProof(other.lesson, honest.chain, honest.anchor)).toThrow(broken);
    expect(() => buildLessonProof(refOf(honest.chain[0]!), honest.chain, honest.anchor)).toThrow(LessonError);
    expect(() => buildLessonProof(honest.lesson, honest.chain.slice(0, -1), honest.anchor)).toThrow(broken);
    expect(() => buildLessonProof(honest.lesson, honest.chain, other.anchor)).toThrow(broken);
  });

  test('refuses a lesson whose evidence is in no entry of the chain', async () => {
    const foreign = honest.lesson satisfies LedgerRef;
    const ran = await runWithLesson({ evidence: (own) => [...own, foreign] });
    expect(() => prove(ran)).toThrow(broken);
  });
});
