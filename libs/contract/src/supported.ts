import type { Contract } from './types.js';

/** Why this release cannot run a contract that is otherwise in order, in one sentence; `null` when it can. */
export function unsupportedReason({ agent, learning }: Contract): string | null {
  if (agent.kind !== 'llm' || learning?.extractor !== 'agent') return null;
  return 'an agent of kind "llm" reports no lessons of its own, so the extractor "agent" would find none: use "exemplar" or "llm".';
}

/** The providers that a run of the contract calls, by name, in order. */
export function providersInUse({ agent, panel, learning }: Contract): string[] {
  const reviewers = (panel?.reviewers ?? []).flatMap((reviewer) => ('provider' in reviewer ? [reviewer.provider] : []));
  const names = [agent.kind === 'llm' ? agent.provider : null, ...reviewers, learning?.provider ?? null];
  return [...new Set(names.filter((name) => name !== null))].sort();
}

/**
 * Why a limit of cost cannot be kept, in one sentence; `null` when it can, or there is none. A cost that nobody knows fits no limit.
 * @param evaluationMax of the whole evaluation, in nano-dollars
 * @param hasPrice whether a provider's calls have a price, from the contract or from the price table
 */
export function budgetProblem(
  contract: Contract,
  evaluationMax: number | null,
  hasPrice: (provider: string) => boolean,
): string | null {
  if (contract.budget.max_cost_nano_usd === null && evaluationMax === null) return null;
  const unknown = providersInUse(contract).find((name) => !hasPrice(name));
  if (unknown === undefined) return null;
  return `\`max_cost_usd\` limits what models may cost, and provider \`${unknown}\` has no known price: add \`price\` to [providers.${unknown}], or leave the limit out.`;
}
