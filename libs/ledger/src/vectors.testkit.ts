import { readFileSync } from 'node:fs';

/** Bytes of a file under libs/ledger/vectors. */
export function vectorBytes(path: string): Uint8Array {
  return Uint8Array.from(readFileSync(new URL(`../vectors/${path}`, import.meta.url)));
}

export function vectorText(path: string): string {
  return new TextDecoder().decode(vectorBytes(path));
}

/** The vectors' shape is the caller's claim: a wrong one fails the test that reads it. */
export function vectorJson<T>(path: string): T {
  return JSON.parse(vectorText(path));
}
