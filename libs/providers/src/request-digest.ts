import { hash } from 'node:crypto';
import { canonicalJson } from '#lib/ledger';
import type { ModelRequest } from './port.js';

/** Hex SHA-256 of the JCS text of a request: what a ledger pins and a recording is looked up by. */
export function requestDigest(request: ModelRequest): string {
  return hash('sha256', canonicalJson(request));
}

/** A short digest of every field, and of every message, so that a recording can say what differs without holding prompts. */
export type FieldDigests = { [field: string]: string };

export function fieldDigests(request: ModelRequest): FieldDigests {
  const { messages, ...others } = request;
  const fields = [
    ...Object.entries(others),
    ...messages.map((message, index) => [`messages[${index}]`, message] as const),
  ];
  return Object.fromEntries(fields.map(([name, value]) => [name, hash('sha256', canonicalJson(value)).slice(0, 16)]));
}

const PER_CALL = 256;
const PER_MESSAGE = 16;
const WITH_TOOLS = 1024;

/**
 * More input tokens than the request can have: the UTF-8 bytes of its JCS text, since every token of the byte-level vocabularies in use
 * stands for at least one byte, and an allowance for what a provider adds: 256 for the call, 16 a message, 1,024 for tools.
 */
export function inputTokensUpperBound(request: ModelRequest): number {
  const allowance = PER_CALL + PER_MESSAGE * request.messages.length + (request.tools.length > 0 ? WITH_TOOLS : 0);
  return Buffer.byteLength(canonicalJson(request)) + allowance;
}
