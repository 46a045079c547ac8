import { beforeEach, describe, expect, test } from 'vitest';
import type { Entry } from './entry.js';
import { genesisHash } from './entry.js';
import type { ChildRunId, EntryHash, EvalRunId, KeyId, LedgerId } from './ids.js';
import { emptyChains, fold, headOf, joins, type LiveChains, mayContinue } from './live-chain.js';
import type { Role } from './roles.js';

const EVAL = `ev_${'0'.repeat(32)}` as EvalRunId;
const CHILD = `${EVAL}.0.on.1.1` as ChildRunId;
const WRITER = { coordinator: 'c', executor: 'e', projector: 'p', requester: 'r' } as const;
const key = (role: Role) => WRITER[role].charCodeAt(0).toString(16).repeat(32) as KeyId;
const session = (n: number) => String(n).repeat(32);

let live: LiveChains;
let made = 0;

interface At {
  role?: Role;
  session?: number;
  prev?: EntryHash;
  seq?: number;
  body?: object;
}

function entry(ledger: LedgerId, type: Entry['type'], at: At = {}): Entry {
  const chain = ledger === EVAL ? live.parent : (live.children.get(ledger as ChildRunId)?.chain ?? null);
  const origin = ledger === EVAL ? genesisHash(EVAL) : live.children.get(ledger as ChildRunId)?.requested;
  const role = at.role ?? (ledger === EVAL ? 'coordinator' : 'executor');
  made += 1;
  return {
    at: '2026-01-01T00:00:00.000Z',
    eval: EVAL,
    ledger,
    key: key(role),
    role,
    session: session(at.session ?? 1),
    prev: at.prev ?? (chain === null ? origin : headOf(chain)),
    seq: at.seq ?? chain?.hashes.length ?? 0,
    type,
    body: at.body ?? {},
    hash: made.toString(16).padStart(64, '0'),
    envelope: { payloadType: '', payload: new Uint8Array(0), keyid: key(role), signature: new Uint8Array(0) },
  } as Entry;
}

const put = (ledger: LedgerId, type: Entry['type'], at: At = {}) => fold(live, entry(ledger, type, at));
const displacing = (role: Role, old: number) => ({ displaced: { key: key(role), session: session(old) }, reason: '' });

beforeEach(() => {
  live = emptyChains(EVAL);
  put(EVAL, 'eval_started');
});

describe('the evaluation ledger', () => {
  test('begins once: a second eval_started joins nowhere', () => {
    expect(put(EVAL, 'eval_started', { session: 2, seq: 0, prev: genesisHash(EVAL) })).toBe('superseded');
    expect(put(EVAL, 'eval_started')).toBe('superseded');
  });

  test('takes the next entry from its writer only', () => {
    expect(put(EVAL, 'child_requested', { session: 2, body: { child_run_id: CHILD } })).toBe('superseded');
    expect(put(EVAL, 'child_requested', { body: { child_run_id: CHILD } })).toBe('joined');
  });

  test('changes hands at the live head, by an entry that names the writer it displaces', () => {
    expect(put(EVAL, 'writer_changed', { session: 2, body: displacing('coordinator', 3) })).toBe('superseded');
    expect(put(EVAL, 'writer_changed', { session: 2, body: displacing('coordinator', 1) })).toBe('joined');
    expect(mayContinue(live, EVAL, { key: key('coordinator'), session: session(1) })).toBe(false);
    expect(mayContinue(live, EVAL, { key: key('coordinator'), session: session(2) })).toBe(true);
  });

  test('is never taken over below its live head', () => {
    const below = entry(EVAL, 'writer_changed', { session: 2, body: displacing('coordinator', 1) });
    put(EVAL, 'child_requested', { body: { child_run_id: CHILD } });
    expect(fold(live, below)).toBe('superseded');
  });

  test('a writer does not displace itself', () => {
    expect(put(EVAL, 'writer_changed', { session: 1, body: displacing('coordinator', 1) })).toBe('superseded');
  });

  test('ends with eval_closed: only one report joins after it, by a projector and with no writer_changed', () => {
    expect(put(EVAL, 'eval_report', { role: 'projector' })).toBe('superseded');
    put(EVAL, 'eval_closed');
    expect(put(EVAL, 'child_requested', { body: { child_run_id: CHILD } })).toBe('superseded');
    expect(put(EVAL, 'writer_changed', { session: 2, body: displacing('coordinator', 1) })).toBe('superseded');
    expect(put(EVAL, 'eval_report')).toBe('superseded');
    const other = entry(EVAL, 'eval_report', { role: 'projector', session: 5 });
    expect(put(EVAL, 'eval_report', { role: 'projector', session: 4 })).toBe('joined');
    expect(fold(live, other)).toBe('superseded');
  });

  test('tells a copy from an entry that lost', () => {
    const request = entry(EVAL, 'child_requested', { body: { child_run_id: CHILD } });
    expect([fold(live, request), fold(live, request)]).toEqual(['joined', 'duplicate']);
  });
});

describe('a child ledger', () => {
  test('begins only on a live request, with the hash of that request', () => {
    expect(put(CHILD, 'run_started', { prev: genesisHash(EVAL) })).toBe('superseded');
    put(EVAL, 'child_requested', { body: { child_run_id: CHILD } });
    expect(put(CHILD, 'run_started', { prev: genesisHash(EVAL) })).toBe('superseded');
    expect(put(CHILD, 'answer_submitted')).toBe('superseded');
    expect(put(CHILD, 'run_started')).toBe('joined');
  });

  test.each(['run_sealed', 'child_anchor', 'eval_closed'] as const)('takes nothing after %s', (end) => {
    put(EVAL, 'child_requested', { body: { child_run_id: CHILD } });
    put(CHILD, 'run_started');
    put(end === 'run_sealed' ? CHILD : EVAL, end, { body: { child_run_id: CHILD } });
    expect(put(CHILD, 'answer_submitted')).toBe('superseded');
    expect(put(CHILD, 'writer_changed', { session: 2, body: displacing('executor', 1) })).toBe('superseded');
    expect(mayContinue(live, CHILD, { key: key('executor'), session: session(1) })).toBe(false);
  });

  test('two takers of one head: the first that joins counts', () => {
    put(EVAL, 'child_requested', { body: { child_run_id: CHILD } });
    put(CHILD, 'run_started');
    const [first, second] = [2, 3].map((n) =>
      entry(CHILD, 'writer_changed', { session: n, body: displacing('executor', 1) }),
    );
    expect(fold(live, first as Entry)).toBe('joined');
    expect(fold(live, second as Entry)).toBe('superseded');
  });
});

describe('roles, default deny', () => {
  test.each([
    ['executor', EVAL, 'child_requested'],
    ['projector', EVAL, 'eval_closed'],
    ['coordinator', CHILD, 'run_started'],
    ['requester', EVAL, 'eval_closed'],
  ] as const)('a %s never writes %s %s', (role, ledger, type) => {
    if (ledger === CHILD) put(EVAL, 'child_requested', { body: { child_run_id: CHILD } });
    expect(joins(live, entry(ledger, type, { role }))).toBe(false);
  });

  test('an entry of another evaluation joins nowhere', () => {
    const foreign = { ...entry(EVAL, 'eval_closed'), eval: `ev_${'1'.repeat(32)}` as EvalRunId };
    expect(joins(live, foreign)).toBe(false);
  });
});
