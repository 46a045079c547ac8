import type { KafkaMessage } from 'kafkajs';
import { expect, test } from 'vitest';
import type { SignedEntry } from '#lib/ledger';
import { createPlainCodec } from '../../../schemas/src/plain-codec.testkit.js';
import { keys, startedEvaluation, stranger } from '../fixtures.testkit.js';
import { Decoding } from './decoding.js';
import { FoldTail } from './fold-tail.js';
import { Life } from './retry.js';

const codec = createPlainCodec();
const message = async (offset: number, record: SignedEntry): Promise<KafkaMessage> => ({
  key: null,
  value: Buffer.from(await codec.encode('eval.ledger', record)),
  timestamp: '0',
  attributes: 0,
  offset: String(offset),
  headers: {},
});

test('a copy of an awaited entry under the name of another key does not make it lost', async () => {
  const { parent, opening } = await startedEvaluation();
  const tail = new FoldTail(parent.evaluation, 0, {
    keys,
    decoding: new Decoding(codec, new Life(), {}),
    observer: {},
    attachment: async () => null,
    pinned: () => null,
    failed: (error) => {
      throw error;
    },
  });
  const answer = tail.readBack(opening);
  const records = opening.map(({ entry }) => entry.envelope);
  const copies = records.map((record) => ({ ...record, keyid: stranger.keyId }));
  await tail.history(await Promise.all([...copies, ...records].map((record, offset) => message(offset, record))));
  expect(await answer).toBe('confirmed');
});
