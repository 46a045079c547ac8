import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { SERVICE_ROLES } from '#lib/key-store';
import { openCodec } from '#lib/schemas';
import { clusterPlace } from '../../apps/truss/src/place.js';
import { askFor } from '../../apps/truss/src/request/ask.js';
import { type Proxy, startProxy } from '../stack/proxy.testkit.js';
import { Deployment } from './deployment.testkit.js';
import { type Outcome, undisturbed } from './outcome.testkit.js';
import { RawProducer } from './raw.testkit.js';
import { Work } from './work.testkit.js';

const PLAN = { repeats: 1, replicates: 2, seed: 19 };
const RUNS = 4;
const SOON = { timeout: 60_000, interval: 100 };
const stack = inject('stack');

const work = new Work();
let registry: Proxy;
let at: Deployment;
let contract: string;
let calm: Outcome;

beforeAll(async () => {
  contract = work.programContract(10);
  calm = await undisturbed(contract, PLAN);
  const url = new URL(stack.registry);
  registry = await startProxy(Number(url.port));
  url.port = String(registry.port);
  at = await Deployment.deploy({ stack, coordinators: 0, executors: 0, projectors: 0 });
  // The services alone go through the proxy: whoever asks is somewhere else.
  await Promise.all(SERVICE_ROLES.map((role) => at.start(role, { TRUSS_REGISTRY: url.href })));
});
afterAll(async () => {
  await at?.close();
  await registry?.close();
  work.close();
});

async function comesOut(evaluation: Parameters<Deployment['outcomeOf']>[0]): Promise<void> {
  expect(await at.outcomeOf(evaluation)).toEqual(calm);
  expect(work.done('agent')).toHaveLength(RUNS);
  await at.verify(evaluation);
}

async function notReady(): Promise<string[]> {
  const answers = at.services.map(async (service) => (await fetch(`${await service.url()}/health/ready`)).text());
  return (await Promise.all(answers)).filter((answer) => answer.includes('registry'));
}

test.each(['cut', 'hold'] as const)(
  'a registry that is away (%s): the services say so, and go on with the schemas that they know',
  async (how) => {
    work.clear();
    registry[how]();
    try {
      await expect.poll(async () => (await notReady()).length, SOON).toBe(SERVICE_ROLES.length);
      await comesOut(await at.request(contract, PLAN));
    } finally {
      registry[how === 'cut' ? 'restore' : 'release']();
    }
    for (const service of at.services) await service.ready();
  },
);

test('a request with a schema that nobody has met waits for the registry, and is no dead letter', async () => {
  work.clear();
  const subject = `${at.prefix}eval.requested-value`;
  const latest = await (await fetch(`${stack.registry}/subjects/${subject}/versions/latest`)).json();
  // The same with one field more, as a later version of a requester may have it: its value comes last.
  const evolved = JSON.parse((latest as { readonly schema: string }).schema) as unknown;
  const [request] = [evolved].flat() as { fields: unknown[] }[];
  request?.fields.push({ name: 'note', type: ['null', 'string'], default: null, doc: 'A note.' });
  const registered = await fetch(`${stack.registry}/subjects/${subject}/versions`, {
    method: 'POST',
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    body: JSON.stringify({ schema: JSON.stringify(evolved) }),
  });
  const { id, message } = (await registered.json()) as { readonly id?: number; readonly message?: string };
  expect(id, message).toBeDefined();
  const codec = await openCodec({ registry: { url: stack.registry }, prefix: at.prefix });
  const flags = { contract, key: `${at.folder}/keys/requester.key`, audience: 'truss', ...PLAN, concurrency: 2 };
  const cluster = { ...at.cluster, place: clusterPlace({}, '') };
  const { evaluation, request: asked } = await askFor({ ...flags, requestId: 'evolved' }, cluster, Date.now());
  const known = Buffer.from(await codec.encode('eval.requested', asked));
  const value = Buffer.concat([known, Buffer.of(0)]);
  value.writeUInt32BE(id ?? 0, 1);

  registry.cut();
  const raw = await RawProducer.connect(stack.brokers, at.prefix);
  await raw.put('eval.requested', { key: 'evolved', value });
  await raw.close();
  // Longer than the session of a consumer and the deadline of the registry's client.
  await sleep(7_000);
  expect(await at.list('eval.accepted', evaluation)).toEqual([]);
  registry.restore();
  await comesOut(evaluation);
  expect((await at.list('eval.dead-letter')).length).toBe(0);
});
