import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AttachmentRef, sha256Hex, trustStoreBytes, trustStoreDigest } from '#lib/ledger';
import { follow, Heard } from '../contract.testkit.js';
import {
  Chain,
  childOf,
  coordinator,
  drafts,
  executor,
  makeTrustStore,
  projector,
  trustStore,
} from '../fixtures.testkit.js';
import { type Deployment, deploy } from './deployment.testkit.js';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await deploy();
});
afterAll(() => deployment.close());

/** An evaluation that pins this trust store, with a child that was requested and its first entry. */
async function pinning(ref: AttachmentRef) {
  const parent = Chain.evaluation();
  const started = drafts.started();
  if (started.type !== 'eval_started') throw new Error('not a start');
  const opening = [await parent.next({ ...started, body: { ...started.body, trust_store: ref } })];
  const requested = await parent.next(drafts.requested(childOf(parent.evaluation)));
  opening.push(requested);
  return { parent, opening, runStarted: await Chain.child(requested).next(drafts.runStarted(requested)) };
}

test('an evaluation is folded by the keys that it pins, as every reader does', async () => {
  const [own, fewer] = [trustStoreDigest(trustStore), trustStoreBytes(makeTrustStore(coordinator, projector))];
  const [here, there] = [await deployment.open({ trustStore: own }), await deployment.open({ trustStore: own })];
  const { parent, opening, runStarted } = await pinning(await here.log.putAttachment(fewer));
  const heard = new Heard();
  const following = await follow(there.log, parent.evaluation, heard);
  expect(await here.log.append(opening)).toBe('confirmed');
  // By an executor that this evaluation does not know.
  expect(runStarted.entry.key).toBe(executor.keyId);
  expect(await here.log.append([runStarted])).toBe('lost');
  await deployment.putRaw(parent.evaluation, runStarted.entry.envelope);
  await following.caughtUp();
  expect(heard.types).toEqual(['eval_started', 'child_requested']);
  expect(heard.foreignReasons).toHaveLength(1);
  const all = await pinning({ sha256: own, size: trustStoreBytes(trustStore).length });
  expect(await here.log.append(all.opening)).toBe('confirmed');
  expect(await here.log.append([all.runStarted])).toBe('confirmed');
});

test('an evaluation whose trust store cannot be had is left alone, and that is said', async () => {
  const said: string[] = [];
  const log = await deployment.open({
    trustStore: trustStoreDigest(trustStore),
    observe: { said: (message) => void said.push(message) },
  });
  const { opening } = await pinning({ sha256: sha256Hex(Uint8Array.of(1, 2, 3)), size: 3 });
  expect(await log.log.append(opening)).toBe('lost');
  expect(await log.log.append(opening.slice(1))).toBe('lost');
  expect(said.filter((message) => message.includes('left alone'))).toHaveLength(1);
});
