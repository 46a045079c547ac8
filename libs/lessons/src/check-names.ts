/** The one check of the gate `verdict`. */
export const VERDICT_CHECK = 'verdict';
/** The checks of the gate `checks`, in the order in which they run: cheapest first. */
export const CHECKS = [
  'size',
  'duplicate',
  'criteria_overlap',
  'expected_answers',
  'protected_overlap',
  'instructions',
] as const;
export type CheckName = (typeof CHECKS)[number];
