import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import { ConfigError, type ConfigProblem } from './errors.js';
import type { SecretName, VariableName } from './variables.js';

/** The options of the command line that win over the environment. */
export interface ConfigFlags {
  readonly brokers?: string;
  readonly registry?: string;
  readonly redis?: string;
  readonly prefix?: string;
}

const FLAGS: Partial<Record<VariableName, keyof ConfigFlags>> = {
  TRUSS_BROKERS: 'brokers',
  TRUSS_REGISTRY: 'registry',
  TRUSS_REDIS: 'redis',
  TRUSS_PREFIX: 'prefix',
};

/** Reads variables one by one and collects what is wrong with them. A variable that is empty is not set. */
export class SettingsReader {
  private readonly problems: ConfigProblem[] = [];
  /** Values that must never be shown. */
  readonly secrets: string[] = [];

  constructor(
    private readonly env: Readonly<Record<string, string | undefined>>,
    private readonly flags: ConfigFlags,
  ) {}

  problem(variable: string, message: string): undefined {
    this.problems.push({ variable, message });
    return undefined;
  }

  /** How much is wrong with any of these so far. */
  problemsOf(...variables: readonly string[]): number {
    return this.problems.filter(({ variable }) => variables.includes(variable)).length;
  }

  /** @throws ConfigError with every problem so far */
  check(): void {
    if (this.problems.length > 0) throw new ConfigError(this.problems);
  }

  text(name: VariableName): string | undefined {
    const flag = FLAGS[name];
    const value = (flag === undefined ? undefined : this.flags[flag]) ?? this.env[name];
    return value === undefined || value.trim() === '' ? undefined : value.trim();
  }

  /** Whether the value came by an option of the command line, which other users of the machine can see. */
  byFlag(name: VariableName): boolean {
    const flag = FLAGS[name];
    return flag !== undefined && this.flags[flag] !== undefined;
  }

  required(name: VariableName, expected: string): string | undefined {
    const flag = FLAGS[name];
    const or = flag === undefined ? '' : `, or give --${flag}`;
    return this.text(name) ?? this.problem(name, `is not set; expected ${expected}: set it${or}`);
  }

  /** `undefined` where it is not set, or is wrong. */
  parsed<T>(name: VariableName, schema: z.ZodType<T>, expected: string): T | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const result = schema.safeParse(text);
    if (result.success) return result.data;
    // Where there is a user there may be a password.
    const shown = text.includes('@') ? 'not usable' : JSON.stringify(text);
    return this.problem(name, `is ${shown}; expected ${expected}: correct it, or take it away`);
  }

  /** From the variable itself, or the file that `NAME_FILE` names; the end of a line at the file's end is not part of it. */
  secret(name: SecretName): string | undefined {
    const own = this.env[name];
    const file = this.env[`${name}_FILE`];
    if (own !== undefined && own !== '' && file !== undefined && file !== '') {
      return this.problem(name, `is set, and so is ${name}_FILE: keep one of them`);
    }
    let value = own;
    if (file !== undefined && file !== '') value = this.file(`${name}_FILE`, file)?.replace(/\r?\n$/, '');
    if (value === undefined || value === '') return undefined;
    this.secrets.push(value);
    return value;
  }

  /** The text of the file that a variable names. */
  fileText(name: VariableName): string | undefined {
    const file = this.text(name);
    return file === undefined ? undefined : this.file(name, file);
  }

  private file(variable: string, file: string): string | undefined {
    try {
      const text = readFileSync(file, 'utf8');
      return text.trim() === '' ? this.problem(variable, `names ${file}, which is empty: put it there`) : text;
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
      return this.problem(
        variable,
        `names ${file}, which cannot be read (${code}): check the path, and that this user may read it`,
      );
    }
  }
}
