import type { Redis } from 'ioredis';
import { within } from '#lib/event-log/redis';
import { canonicalJson } from '#lib/ledger';
import { VIEWS_FORMAT, type ViewChange, type ViewName, ViewsError, type WriteAnswer } from '../port.js';
import * as scripts from './scripts.js';

export interface RedisViewsOptions {
  /** Of the deployment; keys are `<prefix>views:<format>:…`. */
  readonly prefix: string;
  /** How long a call may take. */
  readonly deadlineMs?: number;
}

/** The scripts on one Redis, with a deadline, and every fault as a ViewsError. */
export class ViewStore {
  readonly #root: string;
  readonly #deadlineMs: number;

  constructor(
    private readonly redis: Redis,
    { prefix, deadlineMs = 5_000 }: RedisViewsOptions,
  ) {
    this.#root = `${prefix}views:${VIEWS_FORMAT}:`;
    this.#deadlineMs = deadlineMs;
  }

  async run(script: string, values: readonly (string | number)[] = []): Promise<unknown> {
    try {
      return await within(this.#deadlineMs, this.redis.eval(script, 1, this.#root, ...values));
    } catch (cause) {
      throw new ViewsError('views_unavailable', 'the views cannot be reached: see that Redis is up', { cause });
    }
  }

  /** @returns `displaced` where `version` is given and is not being built (any more) */
  async write(change: ViewChange, version?: string): Promise<WriteAnswer | 'displaced'> {
    const { evaluation, base, position, started, rows } = change;
    const values: (string | number)[] = [evaluation, base ?? '', position, started, version ?? ''];
    for (const { view, key, row } of rows) {
      const { hash, field } = placeOf(view, key);
      values.push(hash, field, canonicalJson(row));
    }
    return (await this.run(version === undefined ? scripts.WRITE : scripts.WRITE_NEXT, values)) as WriteAnswer;
  }
}

/** In which hash of its evaluation a row stands, and in which field. */
export function placeOf(view: ViewName, key: string): { hash: 'evaluation' | 'ledger' | 'lesson'; field: string } {
  return view === 'report' || view === 'evaluation' ? { hash: 'evaluation', field: view } : { hash: view, field: key };
}
