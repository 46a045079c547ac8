import { ProviderError } from './errors.js';
import { answerRedactor, type Redact, redactor } from './redact.js';

/** A provider's key: how it goes into a request, and how it is kept out of everything else. */
export type Key = {
  header: 'authorization' | 'x-api-key';
  value: string | null;
  /** For errors. */
  redact: Redact;
  /** For answers. */
  redactAnswer: Redact;
};

/**
 * Reads a key from the variable that the contract names, and from nowhere else.
 * @throws ProviderError `provider_key_missing` when the variable is not set or holds what no header can carry
 */
export function readKey(
  variable: string | null,
  header: Key['header'],
  env: Readonly<Record<string, string | undefined>>,
): Key {
  const value = variable === null ? null : (env[variable]?.trim() ?? '');
  if (value === '') {
    throw new ProviderError(
      'provider_key_missing',
      `Set the variable ${variable}, which the contract names as the key.`,
    );
  }
  if (value !== null && !/^[\x21-\x7e]+$/.test(value)) {
    const message = `The variable ${variable} holds spaces or other characters that no key has; set it to the key alone.`;
    throw new ProviderError('provider_key_missing', message);
  }
  return { header, value, redact: redactor(variable, value), redactAnswer: answerRedactor(variable, value) };
}

/** Replaces whatever key the SDK put there, which is a placeholder. */
export function keyHeaders(headers: Headers, { header, value }: Key): Headers {
  headers.delete('authorization');
  headers.delete('x-api-key');
  if (value !== null) headers.set(header, header === 'authorization' ? `Bearer ${value}` : value);
  return headers;
}
