import { afterAll, beforeAll, expect, test } from 'vitest';
import { sha256Hex } from '#lib/ledger';
import { type Deployment, deploy } from './deployment.testkit.js';

/** More than several steps of a search. */
const MANY = 4_300;

let deployment: Deployment;
beforeAll(async () => {
  deployment = await deploy(1);
});
afterAll(() => deployment.close());

test('attachments are found in any order, before and after many others', async () => {
  const writer = await deployment.open();
  const bytes = (n: number): Uint8Array => Buffer.from(`attachment ${n}`);
  for (let from = 0; from < MANY; from += 500) {
    const some = Array.from({ length: Math.min(500, MANY - from) }, (_, n) =>
      writer.log.putAttachment(bytes(from + n)),
    );
    await Promise.all(some);
  }
  const reader = await deployment.open();
  for (const n of [0, MANY - 1, 1, MANY - 2, MANY / 2]) {
    const found = await reader.log.attachment(sha256Hex(bytes(n)));
    expect(found === null ? null : String(Buffer.from(found))).toBe(`attachment ${n}`);
  }
  expect(await reader.log.attachment(sha256Hex(Buffer.from('never put')))).toBeNull();
  const late = await writer.log.putAttachment(Buffer.from('late'));
  expect(await reader.log.attachment(late.sha256)).not.toBeNull();
});
