import type { JsonObject, JsonValue } from '#lib/ledger';
import { ProviderError } from './errors.js';
import { type Key, keyHeaders } from './key.js';
import { errorCode, safeCause } from './redact.js';
import { explain, statusError } from './status.js';

/** The largest answer that is read: 4 MiB. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;

/** The connection was never made, so nothing can have been charged. */
const NEVER_SENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'];

/** What one attempt saw on the wire. */
export type Exchange = {
  fetch: typeof globalThis.fetch;
  /** The answer's JSON, once it is there. */
  body: JsonObject | null;
  /** Why there is none: the SDK wraps what its `fetch` throws, so it is kept here. */
  failure: ProviderError | null;
};

/**
 * The `fetch` that the SDK is given. It alone knows the key; it follows no redirects (which would carry the key elsewhere), reads no more
 * than 4 MiB, and passes on nothing but JSON objects with status 200. The usage in them is replaced by zeros: it is read from `body`,
 * so that an odd count costs no answer.
 */
export function openExchange(key: Key, wallMs: () => number): Exchange {
  const exchange: Exchange = {
    body: null,
    failure: null,
    fetch: async (input, init) => {
      try {
        const body = await ask(input, init ?? {}, key, wallMs);
        exchange.body = body;
        return Response.json(withoutUsage(body));
      } catch (error) {
        exchange.failure = error instanceof ProviderError ? error : networkError(error, key, init?.signal ?? null);
        throw exchange.failure;
      }
    },
  };
  return exchange;
}

async function ask(
  input: Parameters<typeof fetch>[0],
  init: RequestInit,
  key: Key,
  wallMs: () => number,
): Promise<JsonObject> {
  const headers = keyHeaders(new Headers(init.headers), key);
  const response = await fetch(input, { ...init, headers, redirect: 'manual' });
  if (!response.ok) {
    const text = await readText(response, MAX_ERROR_BYTES);
    throw statusError(response, text ?? '', key.redact, wallMs());
  }
  const text = await readText(response, MAX_ANSWER_BYTES);
  if (text === null) throw badAnswer(`an answer of more than ${MAX_ANSWER_BYTES} bytes`);
  if (/^\s*</.test(text) || response.headers.get('content-type')?.includes('text/html')) {
    throw badAnswer('a web page; check `base_url`');
  }
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (cause) {
    throw badAnswer(
      'invalid JSON',
      safeCause(cause, () => 'the text does not parse'),
    );
  }
  if (!isObject(body)) throw badAnswer('JSON that is no object');
  if (body['error'] != null) throw badAnswer(`an error with status 200${explain(text, key.redact)}`);
  checkChoice(body);
  return body;
}

/** The whole text, or `null` when there is more than `maxBytes`. */
async function readText(response: Response, maxBytes: number): Promise<string | null> {
  const body: AsyncIterable<Uint8Array> | null = response.body;
  if (body === null) return '';
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    // Leaving the loop cancels the stream, and with it the connection.
    if (bytes > maxBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** A choice that holds nothing at all is a fault of the endpoint; an empty text is an answer. */
function checkChoice(body: JsonObject): void {
  const { choices } = body;
  if (!Array.isArray(choices)) return;
  const [first] = choices as readonly JsonValue[];
  const message = isObject(first) ? first['message'] : undefined;
  if (!isObject(first) || !isObject(message)) throw badAnswer('no choice');
  const says = ['content', 'tool_calls', 'refusal', 'reasoning', 'reasoning_content'].some(
    (key) => message[key] != null,
  );
  const cut = first['finish_reason'] === 'length' || first['finish_reason'] === 'content_filter';
  if (!says && !cut) throw badAnswer('an empty choice');
}

function withoutUsage(body: JsonObject): JsonObject {
  return { ...body, usage: { prompt_tokens: 0, completion_tokens: 0, input_tokens: 0, output_tokens: 0 } };
}

function networkError(error: unknown, key: Key, signal: AbortSignal | null): ProviderError {
  const cause = safeCause(error, key.redact);
  // The caller says which of its signals it was.
  if (signal?.aborted)
    return new ProviderError('provider_aborted', 'The call was stopped.', { cause, maybeCharged: true });
  if (isBadPort(error)) {
    const message = 'The port in `base_url` is one that HTTP clients refuse: serve on another port.';
    return new ProviderError('provider_refused', message, { cause });
  }
  const code = errorCode(error) ?? 'unknown';
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') {
    return new ProviderError('provider_timeout', 'The provider did not answer in time.', { cause, maybeCharged: true });
  }
  const maybeCharged = !NEVER_SENT.includes(code);
  const what = maybeCharged ? 'The connection to the provider broke' : 'The provider cannot be reached';
  return new ProviderError('provider_unreachable', `${what} (${code}); check \`base_url\` and the network.`, {
    cause,
    maybeCharged,
  });
}

/** How `fetch` says that a port is of another protocol: before anything is sent, and without a code. */
function isBadPort(error: unknown): boolean {
  return error instanceof TypeError && error.cause instanceof Error && error.cause.message === 'bad port';
}

export function badAnswer(what: string, cause?: unknown): ProviderError {
  return new ProviderError('provider_bad_answer', `The provider answered with ${what}.`, {
    ...(cause === undefined ? {} : { cause }),
    status: 200,
    maybeCharged: true,
  });
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
