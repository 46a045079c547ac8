/** One thing that is wrong with the configuration. */
export interface ConfigProblem {
  readonly variable: string;
  /** What is wrong, what was expected, and what to do. Never holds the value of a secret. */
  readonly message: string;
}

/** The configuration cannot be used; all that is wrong with it is said at once. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly code = 'bad_config';
  constructor(readonly problems: readonly ConfigProblem[]) {
    super(
      `the configuration cannot be used:\n${problems.map(({ variable, message }) => `  ${variable}: ${message}`).join('\n')}`,
    );
  }
}
