import type { Lesson } from '#lib/ledger';

/** The first line of a worked example. */
export const WORKED_EXAMPLE = 'Worked example.';

/** A worked example may have more than three sentences. */
export function isWorkedExample(lesson: Pick<Lesson, 'text'>): boolean {
  return lesson.text.startsWith(`${WORKED_EXAMPLE}\n`);
}
