import type { KeyRing } from '#lib/ledger';
import { describe, expect, test } from 'vitest';
import { drafts, keys, sessionNamed, startedEvaluation } from './fixtures.testkit.js';
import { describeEventLog, describeLeases } from './log-contract.testkit.js';
import type { Store } from './store.js';
import { createStoreLog } from './store-log.js';
import { createMemoryLeases, createMemoryLog, MemoryStore } from './memory.js';

describeEventLog('memory', async () => {
  const store = new MemoryStore();
  const here = createMemoryLog({ keys, store });
  const elsewhere = createMemoryLog({ keys, store });
  return {
    ...here,
    elsewhere,
    putRaw: async (evaluation, record) => store.open().transaction((tx) => void tx.entry(evaluation, record, false)),
    close: async () => {
      await here.close();
      await elsewhere.close();
    },
  };
});

test('of two processes that take one head, exactly one is confirmed', async () => {
  const store = new MemoryStore();
  const logs = [createMemoryLog({ keys, store }), createMemoryLog({ keys, store })];
  const { child, opening, runStarted } = await startedEvaluation();
  await logs[0]?.log.append(opening);
  expect(await logs[1]?.log.append([runStarted])).toBe('confirmed');
  const answers = await Promise.all(
    logs.map(async ({ log }, index) =>
      log.append([await child.as(sessionNamed(`${index}`)).next(drafts.takeOver(child))]),
    ),
  );
  expect(answers.toSorted()).toEqual(['confirmed', 'lost']);
});

test('commands below what every group committed are forgotten', async () => {
  const { topics } = createMemoryLog({ keys });
  for (const key of ['a', 'b']) await topics.publish('eval.child-run.commands', key, {});
  const consumer = await topics.consume('eval.child-run.commands', 'executors', { record: () => {} });
  await consumer.commit(2);
  const kept: string[] = [];
  for await (const { key } of topics.list('eval.child-run.commands')) kept.push(key);
  expect(kept).toEqual(['b']);
});

describe('in one turn', () => {
  // Signatures are checked at once, so that what is appended together is queued together.
  const atOnce: KeyRing = {
    get(id) {
      const key = keys.get(id);
      return key && { ...key, verifyAsync: async (message, signature) => key.verify(message, signature) };
    },
  };

  async function running() {
    const { log } = createMemoryLog({ keys: atOnce });
    const { parent, child, opening, runStarted } = await startedEvaluation();
    await log.append(opening);
    await log.append([runStarted]);
    return { log, parent, child };
  }

  test('appends of one ledger are judged one after another', async () => {
    const { log, child } = await running();
    const notes = [await child.next(drafts.note('a')), await child.next(drafts.note('b'))];
    expect(await Promise.all(notes.map((note) => log.append([note])))).toEqual(['confirmed', 'confirmed']);
  });

  test('an entry that joined right before its evaluation was closed is not confirmed', async () => {
    const { log, parent, child } = await running();
    const [note, close] = [await child.next(drafts.note()), await parent.next(drafts.closed())];
    expect(await Promise.all([log.append([note]), log.append([close])])).toEqual(['lost', 'confirmed']);
  });

  test('a seal that joined right before the close stands', async () => {
    const { log, parent, child } = await running();
    const [seal, close] = [await child.next(drafts.sealed(child)), await parent.next(drafts.closed())];
    expect(await Promise.all([log.append([seal]), log.append([close])])).toEqual(['confirmed', 'confirmed']);
  });
});

test('what is queued in one turn is one transaction', async () => {
  const store = new MemoryStore().open();
  let transactions = 0;
  const counting: Store = {
    ...store,
    transaction(write) {
      transactions++;
      store.transaction(write);
    },
  };
  const { log, topics } = createStoreLog(counting, keys);
  const attachments = Array.from({ length: 40 }, (_, n) => log.putAttachment(Uint8Array.of(n)));
  await Promise.all([...attachments, topics.publish('eval.index', 'key', {})]);
  expect(transactions).toBe(1);
});

test('a closed log says so', async () => {
  const { log, topics, close } = createMemoryLog({ keys });
  const { opening } = await startedEvaluation();
  await close();
  await expect(log.append(opening)).rejects.toMatchObject({ code: 'log_closed' });
  await expect(topics.publish('eval.index', 'k', {})).rejects.toMatchObject({ code: 'log_closed' });
});

describeLeases('memory', async () => {
  let now = 0;
  return {
    leases: createMemoryLeases(() => now),
    elapse: async (ms) => {
      now += ms;
    },
  };
});
