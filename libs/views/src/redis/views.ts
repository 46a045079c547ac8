import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { z } from 'zod';
import type { EvalRunId, JsonObject } from '#lib/ledger';
import { VIEWS_FORMAT, type ViewName, type Views, ViewsError, type WriteAnswer } from '../port.js';
import { evaluationRowSchema, ledgerRowSchema, lessonRowSchema } from '../rows.js';
import { createNext } from './next.js';
import * as scripts from './scripts.js';
import { placeOf, type RedisViewsOptions, ViewStore } from './store.js';

const PAGE = 100;

/**
 * The views in one Redis (or one primary of it). Every call is one atomic step, so that a reader never sees half a change, or half a
 * version. @param redis from `openRedis`
 */
export function createRedisViews(redis: Redis, options: RedisViewsOptions): Views {
  const store = new ViewStore(redis, options);

  async function row(evaluation: EvalRunId, view: ViewName): Promise<string | null> {
    const { hash, field } = placeOf(view, '');
    return (await store.run(scripts.READ_ROW, [evaluation, hash, field])) as string | null;
  }
  async function rows<T>(evaluation: EvalRunId, view: 'ledger' | 'lesson', schema: z.ZodType<T>): Promise<T[]> {
    const texts = (await store.run(scripts.READ_ROWS, [evaluation, view])) as string[];
    return texts.map((text) => parsed(text, schema));
  }

  return {
    write: async (change) => (await store.write(change)) as WriteAnswer,
    async list({ after, limit = PAGE } = {}) {
      const texts = (await store.run(scripts.LIST, [after ?? '', limit])) as string[];
      return texts.map((text) => parsed(text, evaluationRowSchema));
    },
    async evaluation(evaluation) {
      const text = await row(evaluation, 'evaluation');
      return text === null ? null : parsed(text, evaluationRowSchema);
    },
    async report(evaluation) {
      const text = await row(evaluation, 'report');
      return text === null ? null : (JSON.parse(text) as JsonObject);
    },
    async ledgers(evaluation) {
      const found = await rows(evaluation, 'ledger', ledgerRowSchema);
      return found.toSorted((a, b) => byText(a.ledger, b.ledger));
    },
    async lessons(evaluation) {
      const found = await rows(evaluation, 'lesson', lessonRowSchema);
      return found.toSorted((a, b) => byText(a.lesson, b.lesson));
    },
    async status() {
      const [version, evaluations, building] = (await store.run(scripts.STATUS)) as [string, number, string];
      return { format: VIEWS_FORMAT, version, evaluations, building: building === '' ? null : building };
    },
    next: () => createNext(store, randomUUID()),
  };
}

function parsed<T>(text: string, schema: z.ZodType<T>): T {
  const result = schema.safeParse(JSON.parse(text));
  if (result.success) return result.data;
  throw new ViewsError('views_malformed', 'a view is not what this version writes: run `truss views rebuild`', {
    cause: result.error,
  });
}

// An evaluation's name is the beginning of its runs' names, so it comes first.
function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
