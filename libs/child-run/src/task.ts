import { canonicalJson, sha256Hex, utf8 } from '#lib/ledger';
import type { RunContext } from './actions.js';

/** What a program is told in each arm alike. The name of the run, the lessons and what is left of the budget are a run's own. */
export function taskOf({ contract, rendered, case: row, request }: RunContext) {
  return {
    title: contract.title,
    instructions: rendered.instructions,
    inputs: row?.inputs ?? {},
    seed: request.body.seed,
  };
}

/** By which the runs of a pair are compared: hex SHA-256 of the JCS text. */
export function taskDigest(run: RunContext): string {
  return sha256Hex(utf8(canonicalJson(taskOf(run))));
}
