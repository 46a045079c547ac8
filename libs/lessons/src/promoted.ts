import { type Entry, type LedgerRef, refOf } from '#lib/ledger';
import type { HeldLesson } from './lesson.js';

/** Of a child's live chain, the lessons that it promoted and did not reject, in order of their extraction. What an anchored repeat gives to the offer rule. */
export function promotedLessons(chain: Iterable<Entry>): HeldLesson[] {
  const extracted: HeldLesson[] = [];
  const promoted = new Set<LedgerRef>();
  const rejected = new Set<LedgerRef>();
  for (const entry of chain) {
    if (entry.type === 'lesson_extracted') extracted.push({ ref: refOf(entry), lesson: entry.body.lesson });
    else if (entry.type === 'lesson_promoted') promoted.add(entry.body.lesson);
    else if (entry.type === 'lesson_rejected') rejected.add(entry.body.lesson);
  }
  return extracted.filter(({ ref }) => promoted.has(ref) && !rejected.has(ref));
}
