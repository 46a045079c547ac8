import { canonicalJson, type Lesson, type LedgerRef, sha256Hex, utf8 } from '#lib/ledger';

/** A lesson and the ref of the `lesson_extracted` entry that brought it into the world: its name everywhere. */
export interface HeldLesson {
  readonly ref: LedgerRef;
  readonly lesson: Lesson;
}

export type Trust = Lesson['trust'];

const TRUST_ORDER: readonly Trust[] = ['agent', 'panel', 'machine'];

/** The lowest of them, where agent < panel < machine. */
export function lowestTrust(first: Trust, ...others: readonly Trust[]): Trust {
  return others.reduce((low, trust) => (trustRank(trust) < trustRank(low) ? trust : low), first);
}

/** 0 agent, 1 panel, 2 machine. */
export function trustRank(trust: Trust): number {
  return TRUST_ORDER.indexOf(trust);
}

/** Hex SHA-256 of the JCS text of the whole lesson: the `digest` of its `lesson_extracted`. */
export function lessonDigest(lesson: Lesson): string {
  return sha256Hex(utf8(canonicalJson(lesson)));
}

/** Hex SHA-256 of the JCS text of what a reader sees: title, when, when_not and text. Two lessons with one content digest say the same. */
export function contentDigest(lesson: Pick<Lesson, 'title' | 'when' | 'when_not' | 'text'>): string {
  const { title, when, when_not, text } = lesson;
  return sha256Hex(utf8(canonicalJson({ title, when, when_not, text })));
}

/** An estimate, no tokenizer's count: UTF-8 bytes / 4, rounded up. Good to compare lessons with each other, not to bill by. */
export function estimateTokens(text: string): number {
  return Math.ceil(utf8(text).length / 4);
}
