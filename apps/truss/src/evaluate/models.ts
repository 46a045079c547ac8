import { limitWithoutRoom } from '#lib/child-run';
import { budgetProblem, type LoadedContract, providersInUse } from '#lib/contract';
import { openModel, pricingOf, ProviderError } from '#lib/providers';
import { usageError } from '../exit-codes.js';

/**
 * Finds before the first run what would break every run: a key that is not set, a recording that is not there, a limit of cost on models without a price, or one that
 * leaves no room for a single call.
 * Nothing is called.
 * @throws CliError
 */
export async function checkModels(
  { contract, directory }: LoadedContract,
  maxCostNanoUsd: number | null,
  nowMs: number,
): Promise<void> {
  const priced = new Set<string>();
  for (const name of providersInUse(contract)) {
    try {
      openModel({ name, contract, directory }, { env: process.env });
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      throw usageError(`provider \`${name}\`: ${error.message}`, error);
    }
    if ((await pricingOf(name, contract, nowMs)).rates !== null) priced.add(name);
  }
  const problem = budgetProblem(contract, maxCostNanoUsd, (name) => priced.has(name));
  if (problem !== null) throw usageError(problem);
  const limit = await limitWithoutRoom(contract, nowMs);
  if (limit !== null)
    throw usageError(
      `\`${limit}\` in [budget] has no room for the agent's first call beside what the panel may need to judge it: raise it`,
    );
}
