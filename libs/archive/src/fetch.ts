import { createHash } from 'node:crypto';
import { open, realpath } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ArchiveError } from './errors.js';
import { type ArchiveLimits, archiveLimits } from './limits.js';

/** An archive by the SHA-256 of its bytes and their number; without a URL it is an attachment of the log. */
export interface ArchiveRef {
  readonly sha256: string;
  readonly size: number;
  readonly url: string | null;
}

export interface ArchiveSources {
  /** Of the log. */
  readonly attachment: (sha256: string) => Promise<Uint8Array | null>;
  /** Beginnings of the URLs that may be read, each a whole folder: `https://host/path/`, `file:///folder/`. */
  readonly allowed: readonly string[];
  /** Absent: that of Node. */
  readonly fetch?: typeof fetch;
  readonly limits?: ArchiveLimits;
  /** For all attempts together. Absent: 60 s. */
  readonly timeoutMs?: number;
}

const ATTEMPTS = 3;
const PAUSE_MS = 500;
const REDIRECTS = 5;

/**
 * The bytes of an archive, checked against its hash.
 * @throws ArchiveError; whatever `attachment` throws
 */
export async function fetchArchive(archive: ArchiveRef, sources: ArchiveSources): Promise<Uint8Array> {
  const { packed } = sources.limits ?? archiveLimits;
  if (archive.size > packed) {
    throw new ArchiveError(
      'archive_too_large',
      `the archive has ${archive.size} bytes, and ${packed} are read at most`,
    );
  }
  const bytes = await bytesOf(archive, sources);
  if (bytes.length !== archive.size || createHash('sha256').update(bytes).digest('hex') !== archive.sha256) {
    throw new ArchiveError(
      'archive_mismatch',
      `what is there of the archive is not what its SHA-256 ${archive.sha256.slice(0, 16)}… names: pack it again`,
    );
  }
  return bytes;
}

async function bytesOf({ sha256, size, url }: ArchiveRef, sources: ArchiveSources): Promise<Uint8Array> {
  if (url === null) {
    const bytes = await sources.attachment(sha256);
    if (bytes === null) throw unavailable('is not in the log (any more)', 'send the request again with it');
    return bytes;
  }
  const address = allowedUrl(url, sources.allowed);
  if (address.protocol === 'file:') return readFolder(address, size, sources.allowed);
  const signal = AbortSignal.timeout(sources.timeoutMs ?? 60_000);
  for (let attempt = 1; ; attempt++) {
    try {
      return await download(address, size, sources, signal);
    } catch (cause) {
      if (cause instanceof ArchiveError && !(cause instanceof Passing)) throw cause;
      if (attempt === ATTEMPTS || signal.aborted) {
        const why = cause instanceof Passing ? cause.message : 'does not answer';
        throw unavailable(why, 'see to its server, then send the request again', cause);
      }
    }
    await wait(PAUSE_MS * attempt, undefined, { signal }).catch(() => {});
  }
}

/** The same may be there the next time. */
class Passing extends ArchiveError {}

async function download(
  from: URL,
  size: number,
  { allowed, fetch: get = fetch }: ArchiveSources,
  signal: AbortSignal,
): Promise<Uint8Array> {
  let address = from;
  for (let step = 0; step <= REDIRECTS; step++) {
    const answer = await get(address, { redirect: 'manual', signal, headers: { accept: 'application/gzip, */*' } });
    const location = answer.headers.get('location');
    if (answer.status >= 300 && answer.status < 400 && location !== null) {
      await answer.body?.cancel();
      address = allowedUrl(new URL(location, address).href, allowed);
      if (address.protocol !== 'https:') throw notAllowed('leads from https: to another kind of address');
      continue;
    }
    if (answer.status !== 200) {
      await answer.body?.cancel();
      const what = `is answered with status ${answer.status}`;
      if (answer.status === 429 || answer.status >= 500) throw new Passing('archive_unavailable', what);
      throw unavailable(what, 'check its URL');
    }
    return limited(answer.body ?? [], size);
  }
  throw unavailable(`is redirected more than ${REDIRECTS} times`, 'give the last of the URLs');
}

async function readFolder(address: URL, size: number, allowed: readonly string[]): Promise<Uint8Array> {
  try {
    const real = await realpath(fileURLToPath(address));
    const roots = allowed
      .filter((one) => one.startsWith('file:'))
      .map((one) => realpath(fileURLToPath(one)).catch(() => null));
    const inside = (await Promise.all(roots)).some(
      (root) => root !== null && real.startsWith(`${root.replace(/\/$/, '')}/`),
    );
    if (!inside) throw notAllowed('is a link to somewhere else');
    await using file = await open(real, 'r');
    if (!(await file.stat()).isFile()) throw unavailable('is no file', 'check its URL');
    return await limited(file.createReadStream({ autoClose: false, end: size }), size);
  } catch (cause) {
    if (cause instanceof ArchiveError) throw cause;
    throw unavailable('cannot be read', 'check its URL, and that the service may read it', cause);
  }
}

/** At most one byte more than there should be is kept: that is enough to tell. */
async function limited(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, size: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(size);
  let length = 0;
  for await (const chunk of chunks) {
    if (length + chunk.length > size) {
      throw new ArchiveError('archive_mismatch', `the archive has more than the ${size} bytes that it should have`);
    }
    bytes.set(chunk, length);
    length += chunk.length;
  }
  return bytes.subarray(0, length);
}

/** @throws ArchiveError `archive_not_allowed` */
export function allowedUrl(url: string, allowed: readonly string[]): URL {
  const address = URL.canParse(url) ? new URL(url) : null;
  if (address === null || !['https:', 'file:'].includes(address.protocol))
    throw notAllowed('is no https: or file: URL');
  if (address.username !== '' || address.password !== '') throw notAllowed('has a user in its URL');
  address.hash = '';
  // A part that is written in percents could be read as another folder by whoever serves it.
  const path = decodedPath(address);
  const listed = allowed.some((text) => {
    const root = URL.canParse(text) ? new URL(text) : null;
    if (root === null || root.protocol !== address.protocol || root.host !== address.host) return false;
    return path.startsWith(root.pathname.endsWith('/') ? root.pathname : `${root.pathname}/`);
  });
  if (!listed || path.split('/').includes('..'))
    throw notAllowed('is nowhere where this deployment reads archives (TRUSS_ARCHIVE_URLS)');
  return address;
}

function decodedPath({ pathname }: URL): string {
  try {
    return decodeURIComponent(pathname);
  } catch {
    throw notAllowed('has a URL that is not well written');
  }
}

function notAllowed(why: string): ArchiveError {
  return new ArchiveError(
    'archive_not_allowed',
    `the archive ${why}: put it where archives are read, or send it inside the request`,
  );
}

function unavailable(why: string, advice: string, cause?: unknown): ArchiveError {
  return new ArchiveError('archive_unavailable', `the archive ${why}: ${advice}`, { cause });
}
