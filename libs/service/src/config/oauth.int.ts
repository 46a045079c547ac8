import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { tokenFromClientCredentials, tokenFromFile } from './oauth.js';

async function issuer(answer: (call: number) => { readonly status: number; readonly body: string }) {
  const calls: { readonly authorization: string | undefined; readonly form: string }[] = [];
  const server = createServer((request, response) => {
    let form = '';
    request.setEncoding('utf8').on('data', (part: string) => (form += part));
    request.on('end', () => {
      calls.push({ authorization: request.headers.authorization, form });
      const { status, body } = answer(calls.length);
      response.writeHead(status).end(body);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`;
  return { calls, credentials: { url, clientId: 'truss:1', clientSecret: 'gehe&im', scope: 'kafka' } };
}
const token = (value: string, expires_in?: number) => ({
  status: 200,
  body: JSON.stringify({ access_token: value, token_type: 'Bearer', expires_in }),
});

test('one token by client credentials serves many connections, asked for as the standard says', async () => {
  const { calls, credentials } = await issuer(() => token('t1', 3_600));
  const provider = tokenFromClientCredentials(credentials);
  expect(await Promise.all([provider(), provider()])).toEqual([{ value: 't1' }, { value: 't1' }]);
  expect(await provider()).toEqual({ value: 't1' });
  expect(calls).toEqual([
    {
      authorization: `Basic ${Buffer.from('truss%3A1:gehe%26im').toString('base64')}`,
      form: 'grant_type=client_credentials&scope=kafka',
    },
  ]);
});

test('a token that is about to expire is asked for anew', async () => {
  const { credentials } = await issuer((call) => token(`t${call}`, 20));
  const provider = tokenFromClientCredentials(credentials);
  expect(await provider()).toEqual({ value: 't1' });
  expect(await provider()).toEqual({ value: 't2' });
});

test('a refusal is an error without the secret, and the next connection asks again', async () => {
  const { credentials } = await issuer((call) => (call === 1 ? { status: 401, body: 'gehe&im' } : token('t2')));
  const provider = tokenFromClientCredentials(credentials);
  await expect(provider()).rejects.toThrow(/^the token endpoint 127\.0\.0\.1:\d+ answered 401$/);
  expect(await provider()).toEqual({ value: 't2' });
});

test('a token in a file is read for every connection, since something else renews it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'truss-token-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'token');
  const provider = tokenFromFile(file);
  for (const value of ['one', 'two']) {
    writeFileSync(file, `${value}\n`);
    expect(await provider()).toEqual({ value });
  }
  writeFileSync(file, '\n');
  await expect(provider()).rejects.toThrow('is empty');
});
