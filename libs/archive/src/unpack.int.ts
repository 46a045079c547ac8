import { lstat, readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { emptyFolder, plainTarOf, tarOf, type TarEntry } from './archive.testkit.js';
import { archiveLimits } from './limits.js';
import { unpack } from './unpack.js';

const file = (name: string, content = 'x'): TarEntry => ({ name, content });
const link = (name: string, linkname: string): TarEntry => ({ name, type: 'symlink', linkname });

async function refused(archive: Uint8Array, limits = archiveLimits, reserved: string[] = []): Promise<string> {
  // A folder in a folder, so that what gets out of it would be seen.
  const outer = await emptyFolder();
  const into = join(outer, 'into');
  await writeFile(join(outer, 'victim'), 'untouched');
  const code = await unpack(archive, into, limits, reserved).then(
    () => 'unpacked',
    (error: { code?: string }) => error.code ?? String(error),
  );
  expect(await readFile(join(outer, 'victim'), 'utf8')).toBe('untouched');
  expect((await readdir(outer)).filter((name) => name !== 'into')).toEqual(['victim']);
  return code;
}

describe('a hostile archive gets nothing out of its folder', () => {
  test.each<[string, TarEntry[]]>([
    ['an absolute path', [file('/tmp/truss-evil')]],
    ['a path that leaves it', [file('../victim')]],
    ['a path that leaves it in the middle', [file('a/../../victim')]],
    ['a folder that leaves it', [{ name: '../outside', type: 'directory' }]],
    ['a path that is not plain', [file('a//b')]],
    ['a path with a dot', [file('a/./b')]],
    ['a name too long', [file('n'.repeat(256))]],
    ['a path too long', [file(`${'d/'.repeat(600)}f`)]],
    ['a hard link', [file('a'), { name: 'b', type: 'link', linkname: 'a' }]],
    ['a hard link to outside', [{ name: 'b', type: 'link', linkname: '../victim' }]],
    ['a device', [{ name: 'null', type: 'character-device', devmajor: 1, devminor: 3 }]],
    ['a disk', [{ name: 'disk', type: 'block-device' }]],
    ['a pipe', [{ name: 'pipe', type: 'fifo' }]],
    ['an absolute link', [link('l', '/etc/passwd')]],
    ['a link to outside', [link('l', '../victim')]],
    ['a link to outside from a folder', [link('a/l', '../../victim')]],
    ['a link to the folder above', [link('l', '..')]],
    ['a link that goes up after it went down', [link('x', 'a/../../victim')]],
    ['a link of nothing', [link('l', '')]],
    ['a file through a link', [link('l', 'd'), { name: 'd', type: 'directory' }, file('l/f')]],
    ['a file where a link is', [link('l', 'd'), file('l')]],
    ['a link where a file is', [file('l'), link('l', 'd')]],
    ['a link where a folder is', [file('d/f'), link('d', 'e')]],
    ['a file where a folder is', [file('d/f'), file('d')]],
    ['a file in a file', [file('d'), file('d/f')]],
    ['the same file twice', [file('a', '1'), file('a', '2')]],
    ['a reserved name', [file('contract')]],
  ])('%s is refused', async (_what, entries) => {
    expect(await refused(await tarOf(...entries), archiveLimits, ['contract'])).toBe('archive_unsafe');
  });

  test('a chain of links that would leave it step by step is refused', async () => {
    const entries = [link('a/b/up', '..'), link('out', 'a/b/up/../../victim')];
    expect(await refused(await tarOf(...entries))).toBe('archive_unsafe');
  });

  test('an entry of an unknown kind is refused', async () => {
    const tar = await plainTarOf(file('a'));
    tar[156] = 'Z'.charCodeAt(0);
    // The checksum of the header, which the kind is part of.
    const sum = tar.subarray(0, 512).reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0);
    tar.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
    expect(await refused(gzipSync(tar))).toBe('archive_unsafe');
  });

  test('a name that is not UTF-8 is refused', async () => {
    const tar = await plainTarOf(file('aXb'));
    tar[1] = 0xff;
    const sum = tar.subarray(0, 512).reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0);
    tar.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
    expect(await refused(gzipSync(tar))).toBe('archive_unsafe');
  });
});

describe('an archive beyond measure is stopped', () => {
  const small = {
    ...archiveLimits,
    packed: 4096,
    unpacked: 100_000,
    unquestioned: 20_000,
    ratio: 50,
    entries: 5,
    path: 50,
  };

  test.each<[string, () => Promise<Uint8Array>]>([
    ['its own size', async () => new Uint8Array(5000)],
    ['what comes out of it', () => tarOf({ name: 'a', content: 'ab'.repeat(60_000) })],
    ['its growth', () => tarOf({ name: 'a', content: Buffer.alloc(60_000) })],
    ['its entries', () => tarOf(...[1, 2, 3, 4, 5, 6].map((no) => file(`${no}`)))],
    ['its folders', () => tarOf(...[1, 2, 3, 4, 5, 6].map((no) => ({ name: `${no}`, type: 'directory' as const })))],
    ['many archives in one', async () => gzipSync(gzipSync(Buffer.alloc(90_000_000)))],
  ])('by %s', async (_what, make) => {
    expect(await refused(await make(), small)).toMatch(/^archive_(too_large|malformed)$/);
  });

  test('a bomb of a gigabyte ends at the cap, not in memory', async () => {
    const before = process.memoryUsage().rss;
    const bomb = gzipSync(await plainTarOf({ name: 'zeros', content: Buffer.alloc(256 * 1024 * 1024) }), { level: 1 });
    expect(await refused(bomb)).toBe('archive_too_large');
    expect(process.memoryUsage().rss - before).toBeLessThan(1024 * 1024 * 1024);
  });

  test('a header that says a terabyte is not believed', async () => {
    const tar = await plainTarOf(file('a'));
    tar.write('77777777777', 124, 'latin1');
    const sum = tar.subarray(0, 512).reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0);
    tar.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
    expect(await refused(gzipSync(tar))).toBe('archive_too_large');
  });
});

describe('what is no archive is said to be none', () => {
  test.each<[string, () => Promise<Uint8Array>]>([
    ['nothing', async () => new Uint8Array(0)],
    ['text', async () => Buffer.from('not an archive')],
    ['a tar that is not compressed', async () => plainTarOf(file('a'))],
    ['a gzip of text', async () => gzipSync('x'.repeat(2000))],
    ['a gzip cut off', async () => (await tarOf(file('a', 'abc'.repeat(100)))).subarray(0, 60)],
    ['a tar cut off', async () => gzipSync((await plainTarOf(file('a', 'abc'.repeat(1000)))).subarray(0, 1500))],
    [
      'a bad checksum',
      async () => {
        const tar = await plainTarOf(file('a'));
        tar[0] = 'b'.charCodeAt(0);
        return gzipSync(tar);
      },
    ],
  ])('%s', async (_what, make) => {
    expect(await refused(await make())).toBe('archive_malformed');
  });
});

test('an ordinary archive comes out as it went in, whoever made it', async () => {
  const into = await emptyFolder();
  const archive = await tarOf(
    { name: './', type: 'directory' },
    { name: './run.sh', mode: 0o4777, content: '#!/bin/sh' },
    { name: 'd/e/f.txt', mode: 0o600, content: 'deep' },
    { name: 'empty', type: 'directory' },
    link('d/e/up', '../g/h'),
    link('loose', 'nowhere'),
    { name: `long/${'ö'.repeat(90)}.txt`, content: 'long' },
  );
  await unpack(archive, into);
  expect(await readFile(join(into, 'd/e/f.txt'), 'utf8')).toBe('deep');
  expect(await readFile(join(into, `long/${'ö'.repeat(90)}.txt`), 'utf8')).toBe('long');
  expect((await lstat(join(into, 'run.sh'))).mode & 0o7777 & ~0o022).toBe(0o755);
  expect((await lstat(join(into, 'd/e/f.txt'))).mode & 0o111).toBe(0);
  expect((await lstat(join(into, 'empty'))).isDirectory()).toBe(true);
  expect(await readlink(join(into, 'd/e/up'))).toBe('../g/h');
  expect(await readlink(join(into, 'loose'))).toBe('nowhere');
});
