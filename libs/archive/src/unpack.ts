import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract, type Header } from 'tar-stream';
import { ArchiveError } from './errors.js';
import { type ArchiveLimits, archiveLimits, safePath, staysInside } from './limits.js';

/**
 * Unpacks a tar.gz into an empty folder. Plain files, folders and links that stay inside, and nothing else; every file gets mode 644 or 755.
 * Nothing is ever written through a link: they are made last, and no entry may stand in one. A failure leaves files behind, all of them in the folder.
 * @throws ArchiveError `archive_malformed`, `archive_unsafe`, `archive_too_large`
 */
export async function unpack(
  bytes: Uint8Array,
  into: string,
  limits: ArchiveLimits = archiveLimits,
  reserved: readonly string[] = [],
): Promise<void> {
  if (bytes.length > limits.packed) throw tooLarge(`has more than ${limits.packed} bytes`);
  const tar = extract();
  const seen = new Contents(limits, reserved);
  const meter = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      done(seen.passed(chunk.length, bytes.length), chunk);
    },
  });
  const feeding = pipeline(Readable.from(slices(bytes)), createGunzip(), meter, tar);
  // Its error is the one that ends the loop below, or the loop's own.
  feeding.catch(() => {});
  try {
    for await (const entry of tar) await place(entry, into, seen);
    await feeding;
  } catch (cause) {
    tar.destroy();
    throw asArchiveError(cause);
  }
  for (const [path, target] of seen.links) {
    await mkdir(dirname(join(into, path)), { recursive: true });
    await symlink(target, join(into, path));
  }
}

/** `type` is `null` for one that nobody knows. */
type Found = Omit<Header, 'type' | 'linkname'> & {
  readonly type: Header['type'] | null;
  readonly linkname: string | null;
};

async function place(
  entry: AsyncIterable<unknown> & { readonly header: Found; resume(): unknown },
  into: string,
  seen: Contents,
): Promise<void> {
  const path = seen.add(entry.header);
  const at = join(into, path);
  if (entry.header.type === 'file') {
    await mkdir(dirname(at), { recursive: true });
    const mode = (entry.header.mode & 0o100) === 0 ? 0o644 : 0o755;
    await writeFile(at, entry as AsyncIterable<Uint8Array>, { flag: 'wx', mode });
    return;
  }
  if (entry.header.type === 'directory') await mkdir(at, { recursive: true });
  entry.resume();
}

type Kind = 'file' | 'folder' | 'link';

/** What came out of an archive so far, and whether the next of it may. */
class Contents {
  readonly links = new Map<string, string>();
  readonly #kinds = new Map<string, Kind>();
  #entries = 0;
  #passed = 0;

  constructor(
    private readonly limits: ArchiveLimits,
    private readonly reserved: readonly string[],
  ) {}

  passed(bytes: number, packed: number): ArchiveError | null {
    const { limits } = this;
    this.#passed += bytes;
    if (this.#passed > limits.unpacked) return tooLarge(`unpacks to more than ${limits.unpacked} bytes`);
    if (this.#passed > Math.max(limits.unquestioned, limits.ratio * packed))
      return tooLarge(`unpacks to more than ${limits.ratio} times its size`);
    return null;
  }

  /** @throws ArchiveError unless the entry may be made; its path */
  add({ name, type, size, linkname }: Found): string {
    const { limits } = this;
    if (++this.#entries > limits.entries) throw tooLarge(`has more than ${limits.entries} files and folders`);
    if (size > limits.unpacked) throw tooLarge(`holds a file of ${size} bytes`);
    // As `tar -c .` writes it: the folder itself, and all in it below `./`.
    const plain = name.replace(/^\.\//, '').replace(/\/$/, '');
    if (type === 'directory' && (plain === '' || plain === '.')) return '.';
    const path = safePath(plain, limits);
    const kind = kindOf(type, path);
    this.#folder(dirname(path));
    const known = this.#kinds.get(path);
    if (known !== undefined && !(known === 'folder' && kind === 'folder')) {
      throw new ArchiveError('archive_unsafe', `the archive holds ${JSON.stringify(path)} twice: pack it again`);
    }
    if (this.reserved.includes(path)) {
      throw new ArchiveError('archive_unsafe', `the archive may not hold ${path}, which is made here: leave it out`);
    }
    this.#kinds.set(path, kind);
    if (kind === 'link') this.#link(path, linkname ?? '');
    return path;
  }

  #link(path: string, target: string): void {
    if (Buffer.byteLength(target) > this.limits.path || !staysInside(path, target)) {
      throw new ArchiveError(
        'archive_unsafe',
        `the link ${JSON.stringify(path)} of the archive leaves it: replace it by what it points to`,
      );
    }
    this.links.set(path, target);
  }

  #folder(path: string): void {
    for (let folder = path; folder !== '.'; folder = dirname(folder)) {
      const kind = this.#kinds.get(folder);
      if (kind === 'folder') return;
      if (kind !== undefined) {
        const what = `the archive holds something in ${JSON.stringify(folder)}, which is no folder`;
        throw new ArchiveError('archive_unsafe', `${what}: pack it again`);
      }
      this.#kinds.set(folder, 'folder');
    }
  }
}

function kindOf(type: Found['type'], path: string): Kind {
  switch (type) {
    case 'file':
      return 'file';
    case 'directory':
      return 'folder';
    case 'symlink':
      return 'link';
    default: {
      const what = `the archive holds ${JSON.stringify(path)}, a ${type ?? 'thing of an unknown kind'}`;
      throw new ArchiveError('archive_unsafe', `${what}: only files, folders and symbolic links are unpacked`);
    }
  }
}

function tooLarge(what: string): ArchiveError {
  return new ArchiveError('archive_too_large', `the archive ${what}, which is not unpacked: make it smaller`);
}

function asArchiveError(cause: unknown): Error {
  if (cause instanceof ArchiveError) return cause;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  // What the disk says is not the archive's fault.
  if (/^E[A-Z]+$/.test(code) && cause instanceof Error) return cause;
  return new ArchiveError('archive_malformed', 'the archive is not a whole tar.gz: pack it again', { cause });
}

function* slices(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}
