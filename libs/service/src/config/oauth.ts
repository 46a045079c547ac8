import { readFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import type { ConnectionOptions } from 'node:tls';
import { z } from 'zod';

/** What kafkajs asks for at every connection and re-authentication. */
export type TokenProvider = () => Promise<{ value: string }>;

/** A token that something else keeps fresh in a file, such as a projected service account. */
export function tokenFromFile(file: string): TokenProvider {
  return async () => {
    const value = (await readFile(file, 'utf8')).trim();
    if (value === '') throw new Error(`the token file ${file} is empty`);
    return { value };
  };
}

export interface ClientCredentials {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope?: string;
  readonly tls?: ConnectionOptions;
}

const DEADLINE_MS = 10_000;
/** A token is changed so long before it expires. */
const MARGIN_MS = 30_000;
const answerSchema = z.object({ access_token: z.string().min(1), expires_in: z.number().positive().optional() });

/** The client credentials grant of OAuth 2.0 (RFC 6749, section 4.4); one token serves all connections until shortly before it expires. */
export function tokenFromClientCredentials(credentials: ClientCredentials): TokenProvider {
  let held: { readonly value: string; readonly until: number } | null = null;
  let asking: Promise<{ value: string }> | null = null;
  const ask = async (): Promise<{ value: string }> => {
    const { access_token: value, expires_in = 60 } = answerSchema.parse(JSON.parse(await post(credentials)));
    held = { value, until: performance.now() + Math.max(expires_in * 1000 - MARGIN_MS, 0) };
    return { value };
  };
  return async () => {
    if (held !== null && performance.now() < held.until) return { value: held.value };
    asking ??= ask().finally(() => {
      asking = null;
    });
    return asking;
  };
}

function post({ url, clientId, clientSecret, scope, tls }: ClientCredentials): Promise<string> {
  const form = new URLSearchParams({ grant_type: 'client_credentials', ...(scope === undefined ? {} : { scope }) });
  const options: RequestOptions = {
    ...tls,
    method: 'POST',
    // RFC 6749, section 2.3.1: both are form-encoded first.
    auth: `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`,
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
    signal: AbortSignal.timeout(DEADLINE_MS),
  };
  return new Promise((resolve, reject) => {
    const request = url.startsWith('https:') ? httpsRequest(url, options) : httpRequest(url, options);
    request.on('error', reject);
    request.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => (text += part));
      response.on('error', reject);
      response.on('end', () => {
        if (response.statusCode === 200) resolve(text);
        else reject(new Error(`the token endpoint ${new URL(url).host} answered ${response.statusCode ?? 'nothing'}`));
      });
    });
    request.end(form.toString());
  });
}
