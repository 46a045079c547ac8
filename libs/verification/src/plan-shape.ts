import { z } from 'zod';
import type { Plan } from '#lib/ledger';

/** The parts of a resolved contract that a verifier computes with. The rest is whatever was signed. */
const contractSchema = z.looseObject({
  id: z.string(),
  agent: z.looseObject({ kind: z.string() }),
  criteria: z.array(z.looseObject({ id: z.string(), kind: z.enum(['command', 'match', 'review']) })).min(1),
  panel: z.looseObject({ quorum: z.int().min(0), reviewers: z.array(z.looseObject({ name: z.string() })) }).nullable(),
  learning: z
    .looseObject({
      extractor: z.enum(['exemplar', 'agent', 'llm']),
      gates: z.array(z.enum(['verdict', 'checks', 'panel'])),
      scope: z.string(),
      max_recalled: z.int().min(0),
      same_case: z.enum(['exclude', 'allow']),
    })
    .nullable(),
  cases: z.array(z.looseObject({ id: z.string(), family: z.string().nullable() })),
});
export type PlannedContract = z.infer<typeof contractSchema>;

/** Why the contract cannot be computed with, or `null`. */
export function contractFault(contract: unknown): string | null {
  const parsed = contractSchema.safeParse(contract);
  return parsed.success ? null : z.prettifyError(parsed.error);
}

/** A contract of a plan whose contracts were found to have their shape. */
export function contractOf(plan: Plan, no: number): PlannedContract {
  return plan.contracts[no]?.contract as PlannedContract;
}
