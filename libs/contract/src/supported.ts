import type { Contract } from './types.js';

/** Why this release cannot run a contract that is otherwise in order, in one sentence; `null` when it can. */
export function unsupportedReason({ agent, panel, learning }: Contract): string | null {
  const model = panel?.reviewers.find((reviewer) => 'provider' in reviewer);
  const what =
    agent.kind === 'llm'
      ? 'agents of kind "llm"'
      : model
        ? `reviewers with a provider (\`${model.name}\`)`
        : learning?.extractor === 'llm'
          ? 'the extractor "llm"'
          : null;
  return what === null
    ? null
    : `language models arrive with the next release: it does not run ${what} yet; use a command instead.`;
}
