import { type LoadedContract, providersInUse } from '#lib/contract';
import { openModel, ProviderError } from '#lib/providers';
import { checkBudget } from '#lib/requests';
import { usageError } from '../exit-codes.js';

/**
 * Finds before the first run what would break every run: a key that is not set, a recording that is not there, a limit of cost on models without a price, or one that
 * leaves no room for a single call.
 * Nothing is called.
 * @throws CliError, RequestError
 */
export async function checkModels(
  { contract, directory }: LoadedContract,
  maxCostNanoUsd: number | null,
  nowMs: number,
): Promise<void> {
  for (const name of providersInUse(contract)) {
    try {
      openModel({ name, contract, directory }, { env: process.env });
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      throw usageError(`provider \`${name}\`: ${error.message}`, error);
    }
  }
  await checkBudget(contract, maxCostNanoUsd, nowMs);
}
