import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { openTracing } from './open-tracing.js';

interface Export {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly { readonly key: string; readonly value: object }[] };
    readonly scopeSpans: readonly { readonly spans: readonly { readonly name: string; readonly traceId: string }[] }[];
  }[];
}

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const record = {
  topic: 'eval.requested',
  partition: 0,
  position: 1,
  key: 'k',
  value: null,
  trace: `00-${TRACE}-b7ad6b7169203331-01`,
} as const;

async function collector(status: number) {
  const received: { readonly path: string; readonly tenant: string | undefined; readonly body: Export }[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(parts).toString('utf8')) as Export;
      received.push({ path: request.url ?? '', tenant: request.headers['x-tenant']?.toString(), body });
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`, received };
}

test('spans go to the collector with its headers, in the trace that came with the record', async () => {
  const { url, received } = await collector(200);
  const tracing = await openTracing({ url, headers: { 'x-tenant': 't1' } }, { service: 'truss-test', version: '1' });
  const goesOn = tracing.taking('intake', record);
  expect(goesOn).toMatch(new RegExp(`^00-${TRACE}-(?!b7ad6b7169203331)[0-9a-f]{16}-01$`));
  await tracing.close();
  expect(received).toHaveLength(1);
  expect(received[0]).toMatchObject({ path: '/v1/traces', tenant: 't1' });
  const [resource] = received[0]?.body.resourceSpans ?? [];
  expect(resource?.resource.attributes).toContainEqual({ key: 'service.name', value: { stringValue: 'truss-test' } });
  expect(resource?.scopeSpans[0]?.spans).toEqual([expect.objectContaining({ name: 'intake', traceId: TRACE })]);
});

test('a collector that is away, or refuses, costs the spans and a few seconds at the end', async () => {
  for (const url of ['http://127.0.0.1:1/v1/traces', (await collector(503)).url]) {
    const tracing = await openTracing({ url, headers: {} }, { service: 'truss-test', version: '1' });
    tracing.taking('intake', record);
    const began = performance.now();
    await tracing.close();
    expect(performance.now() - began).toBeLessThan(3_000);
  }
});

test('without a collector a trace is passed on as it came, and nothing is made', async () => {
  const tracing = await openTracing(null, { service: 'truss-test', version: '1' });
  expect(tracing.taking('intake', record)).toBe(record.trace);
  expect(tracing.taking('intake', { ...record, trace: 'nonsense' })).toBe('nonsense');
  const { trace: _, ...without } = record;
  expect(tracing.taking('intake', without)).toBeUndefined();
  expect(tracing.publishing('eval.accepted', 'k', record.trace)).toBe(record.trace);
  await tracing.close();
});
