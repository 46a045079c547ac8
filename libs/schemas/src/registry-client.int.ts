import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { deploySchemas } from './deploy-schemas.js';
import { pingRegistry } from './ping-registry.js';
import { createRegistryReader } from './registry-client.js';

/** A server at the registry's address. */
async function answering(answer: RequestListener): Promise<{ url: string; calls: () => number }> {
  let calls = 0;
  const server = createServer((request, response) => {
    calls += 1;
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://user:secret@127.0.0.1:${(server.address() as AddressInfo).port}`, calls: () => calls };
}

const json =
  (status: number, body: unknown): RequestListener =>
  (_, response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

describe('what a registry answers', () => {
  test('404 in its own words says that the schema is unknown', async () => {
    const { url, calls } = await answering(json(404, { error_code: 40403, message: 'Schema 7 not found' }));
    await expect(createRegistryReader({ url }).schema(7)).rejects.toMatchObject({
      code: 'schema_unknown',
      retryable: false,
    });
    expect(calls()).toBe(1);
  });

  test('404 of a proxy before it says nothing of the schema', async () => {
    const { url } = await answering(
      (_, response) => void response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>no backend</h1>'),
    );
    await expect(createRegistryReader({ url }).schema(7)).rejects.toMatchObject({
      code: 'registry_unavailable',
      retryable: true,
    });
  });

  test.each([500, 502, 503, 429])('%i says to ask again', async (status) => {
    const { url } = await answering(json(status, { message: 'not now' }));
    await expect(createRegistryReader({ url }).schema(7)).rejects.toMatchObject({
      code: 'registry_unavailable',
      retryable: true,
    });
  });

  test('something that is no Avro schema is known, and of no use', async () => {
    const { url } = await answering(json(200, { schema: '{"type":"nothing"}' }));
    await expect(createRegistryReader({ url }).schema(7)).rejects.toMatchObject({ code: 'schema_incompatible' });
    const other = await answering(json(200, { schema: '{"type":"object"}', schemaType: 'JSON' }));
    await expect(createRegistryReader({ url: other.url }).schema(7)).rejects.toMatchObject({
      code: 'schema_incompatible',
    });
  });

  test('nothing at all, or a byte now and then, costs the deadline and no more', async () => {
    const silent = await answering(() => {});
    const dripping = await answering((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const timer = setInterval(() => response.write(' '), 20);
      response.once('close', () => clearInterval(timer));
    });
    for (const { url } of [silent, dripping]) {
      const begun = performance.now();
      await expect(createRegistryReader({ url }, 200).schema(7)).rejects.toMatchObject({
        code: 'registry_unavailable',
        message: expect.stringContaining('200'),
      });
      expect(performance.now() - begun).toBeLessThan(5_000);
    }
  });

  test('is told without the password that may stand in its address', async () => {
    const { url } = await answering(json(500, { message: 'not now' }));
    const refused = (work: Promise<unknown>) =>
      work.then(
        () => '',
        (error: Error) => error.message,
      );
    const said = [
      await refused(createRegistryReader({ url }).schema(7)),
      await refused(deploySchemas({ registry: { url }, prefix: '' })),
      String(await pingRegistry({ url })),
      await refused(createRegistryReader({ url: 'http://user:secret@127.0.0.1:1' }).schema(7)),
      String(await pingRegistry({ url: 'http://user:secret@127.0.0.1:1' })),
    ];
    for (const message of said) {
      expect(message).not.toBe('');
      expect(message).not.toContain('secret');
    }
  });
});
