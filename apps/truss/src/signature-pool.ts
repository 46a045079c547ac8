import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { concatBytes, fromHex, isWellFormedSignature } from '#lib/ledger';
import type { SignatureCheck, VerifySignatures } from '#lib/verification';
import type { SignatureAnswer, SignatureTask } from './signature-worker.js';

export interface SignaturePool {
  readonly verify: VerifySignatures;
  /** Ends the threads. */
  close(): Promise<void>;
}

export interface SignaturePoolOptions {
  /** Threads; as many as there are processors by default. */
  readonly threads?: number;
  /** So many signatures are checked in this thread before any other is started: most evaluations are small. */
  readonly inProcess?: number;
}

/** DER of RFC 8410 up to the 32 key bytes. */
const SPKI_PREFIX = fromHex('302a300506032b6570032100');
/** An index at which no key is. */
const NO_KEY = 0xffffffff;
const SOURCE = import.meta.url.endsWith('.ts') ? './signature-worker.ts' : './signature-worker.js';

/**
 * Checks signatures on threads, each batch on the least busy one. The strict profile is the ledger's: keys were admitted, the form of a signature is
 * checked here, the equation there.
 */
export function createSignaturePool({
  threads = availableParallelism(),
  inProcess = 2000,
}: SignaturePoolOptions = {}): SignaturePool {
  const lanes: Lane[] = [];
  let seen = 0;
  return {
    async verify(batch) {
      seen += batch.length;
      if (seen <= inProcess || batch.length < 64)
        return batch.map(({ key, message, signature }) => key.verify(message, signature));
      while (lanes.length < threads) lanes.push(new Lane());
      const lane = lanes.reduce((least, one) => (one.waiting < least.waiting ? one : least));
      return lane.verify(batch);
    },
    async close() {
      await Promise.all(lanes.splice(0).map((lane) => lane.close()));
    },
  };
}

class Lane {
  readonly #worker = new Worker(new URL(SOURCE, import.meta.url));
  readonly #pending = new Map<
    number,
    { readonly resolve: (holds: boolean[]) => void; readonly reject: (error: Error) => void }
  >();
  #tasks = 0;
  #failed: Error | null = null;

  constructor() {
    this.#worker.on('message', ({ id, holds }: SignatureAnswer) => {
      this.#pending.get(id)?.resolve(Array.from(holds, (one) => one === 1));
      this.#pending.delete(id);
    });
    this.#worker.on('error', (error) =>
      this.#fail(error instanceof Error ? error : new Error('a thread that checks signatures failed')),
    );
    this.#worker.on('exit', () => this.#fail(new Error('a thread that checks signatures ended before it answered')));
  }

  get waiting(): number {
    return this.#pending.size;
  }

  verify(batch: readonly SignatureCheck[]): Promise<boolean[]> {
    return new Promise((resolve, reject) => {
      if (this.#failed !== null) return reject(this.#failed);
      const id = ++this.#tasks;
      this.#pending.set(id, { resolve, reject });
      const task = pack(id, batch);
      // The bytes are copied: whoever asked reads them still.
      this.#worker.postMessage(task, [task.table.buffer]);
    });
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #fail(error: Error): void {
    this.#failed ??= error;
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }
}

function pack(id: number, batch: readonly SignatureCheck[]): SignatureTask {
  const indices = new Map<string, number>();
  const keys: SignatureTask['keys'][number][] = [];
  const table = new Uint32Array(4 * batch.length);
  const { checks, buffer } = inOneBuffer(batch);
  checks.forEach(({ key, message, signature }, i) => {
    let index = indices.get(key.id);
    if (index === undefined) {
      index = keys.length;
      indices.set(key.id, index);
      keys.push({ name: key.id, der: concatBytes(SPKI_PREFIX, key.publicKey) });
    }
    const row = 4 * i;
    // A signature of another form is not one: no key is at that index.
    table[row] = isWellFormedSignature(signature) ? index : NO_KEY;
    table[row + 1] = message.byteOffset;
    table[row + 2] = message.length;
    table[row + 3] = signature.byteOffset;
  });
  return { id, keys, table, bytes: new Uint8Array(buffer) };
}

/** As they are where they share a buffer, as those of a verification do; else with their bytes put together. */
function inOneBuffer(batch: readonly SignatureCheck[]): {
  readonly checks: readonly SignatureCheck[];
  readonly buffer: ArrayBufferLike;
} {
  const shared = batch[0]?.message.buffer;
  if (shared !== undefined && batch.every((one) => one.message.buffer === shared && one.signature.buffer === shared))
    return { checks: batch, buffer: shared };
  const bytes = concatBytes(...batch.flatMap(({ message, signature }) => [message, signature]));
  let at = 0;
  const next = (length: number): Uint8Array => bytes.subarray(at, (at += length));
  const checks = batch.map(({ key, message, signature }) => ({
    key,
    message: next(message.length),
    signature: next(signature.length),
  }));
  return { checks, buffer: bytes.buffer };
}
