import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { canonicalJson } from '#lib/ledger';
import { request } from './model.testkit.js';
import { fieldDigests, inputTokensUpperBound, requestDigest } from './request-digest.js';

describe('the digest of a request', () => {
  test('is the SHA-256 of its JCS text, so the order of keys does not matter', () => {
    const one = request();
    const { model, ...rest } = one;
    expect(requestDigest(one)).toBe(hash('sha256', canonicalJson(one)));
    expect(requestDigest({ ...rest, model })).toBe(requestDigest(one));
  });

  test('changes with every field', () => {
    const changes = [
      { model: 'other' },
      { temperature: null },
      { system: '' },
      { messages: [] },
      { tools: [{ name: 'a', description: '', json_schema: {} }] },
      { max_output_tokens: 99 },
      { structured: { name: 'a', json_schema: {} } },
    ];
    const digests = [{}, ...changes].map((change) => requestDigest(request(change)));
    expect(new Set(digests).size).toBe(changes.length + 1);
    expect(Object.keys(changes.reduce((all, change) => ({ ...all, ...change }), {})).sort()).toEqual(
      Object.keys(request()).sort(),
    );
  });

  test('of its fields names every message', () => {
    const messages = [
      { role: 'user' as const, text: 'a' },
      { role: 'user' as const, text: 'b' },
    ];
    expect(Object.keys(fieldDigests(request({ messages }))).slice(-2)).toEqual(['messages[0]', 'messages[1]']);
  });
});

test('the bound of input tokens counts bytes, not characters', () => {
  const of = (text: string) => inputTokensUpperBound(request({ messages: [{ role: 'user', text }] }));
  expect(of('é'.repeat(100)) - of('')).toBe(200);
  expect(of('') - inputTokensUpperBound(request({ messages: [] }))).toBeGreaterThan(16);
});
