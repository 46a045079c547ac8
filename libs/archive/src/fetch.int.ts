import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { emptyFolder, sha256 } from './archive.testkit.js';
import { allowedUrl, type ArchiveSources, fetchArchive } from './fetch.js';

const BYTES = new TextEncoder().encode('the archive');
const REF = { sha256: sha256(BYTES), size: BYTES.length };
const ALLOWED = ['https://archives.test/team/'];

/** What `https://archives.test` answers: a real server, reached without TLS. */
async function serve(listener: RequestListener, part: Partial<ArchiveSources> = {}): Promise<ArchiveSources> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    attachment: async () => null,
    allowed: ALLOWED,
    fetch: (address, init) => {
      const url = new URL(String(address));
      return fetch(`http://127.0.0.1:${port}${url.pathname}`, init);
    },
    ...part,
  };
}

const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'fetched',
    (error: { code?: string }) => error.code ?? error,
  );
const at = (url: string) => ({ ...REF, url });

describe('an archive at an https: URL', () => {
  test('is read, and its hash is checked', async () => {
    const sources = await serve((_request, response) => response.end(BYTES));
    expect(await fetchArchive(at('https://archives.test/team/a.tar.gz'), sources)).toEqual(BYTES);
    const other = { ...REF, sha256: '0'.repeat(64), url: 'https://archives.test/team/a.tar.gz' };
    expect(await codeOf(fetchArchive(other, sources))).toBe('archive_mismatch');
  });

  test('is asked for again where the server stumbles, and not where it says no', async () => {
    let asked = 0;
    const stumbles = await serve((_request, response) => {
      asked += 1;
      response.statusCode = asked < 3 ? 503 : 200;
      response.end(asked < 3 ? '' : BYTES);
    });
    expect(await fetchArchive(at('https://archives.test/team/a'), stumbles)).toEqual(BYTES);
    expect(asked).toBe(3);
    const gone = await serve((_request, response) => {
      asked += 1;
      response.writeHead(404).end();
    });
    expect(await codeOf(fetchArchive(at('https://archives.test/team/a'), gone))).toBe('archive_unavailable');
    expect(asked).toBe(4);
  });

  test('that never ends, or is longer than it says, is cut off', async () => {
    const endless = await serve((_request, response) => {
      const more = setInterval(() => response.write(Buffer.alloc(65_536)), 1);
      response.on('close', () => clearInterval(more));
    });
    expect(await codeOf(fetchArchive(at('https://archives.test/team/a'), endless))).toBe('archive_mismatch');
  });

  test('that comes too slowly is given up', async () => {
    const slow = await serve((_request, response) => void response.write('t'), { timeoutMs: 300 });
    expect(await codeOf(fetchArchive(at('https://archives.test/team/a'), slow))).toBe('archive_unavailable');
  });

  test.each([
    ['another host', 'https://evil.test/team/a'],
    ['another folder', 'https://archives.test/other/a'],
    ['another kind of address', 'file:///etc/passwd'],
    ['plain http', 'http://archives.test/team/a'],
  ])('may not lead to %s', async (_what, location) => {
    const sources = await serve((_request, response) => response.writeHead(302, { location }).end());
    expect(await codeOf(fetchArchive(at('https://archives.test/team/a'), sources))).toBe('archive_not_allowed');
  });

  test('may lead to another place where archives are read, but not in circles', async () => {
    const sources = await serve(({ url }, response) => {
      if (url === '/team/b') response.end(BYTES);
      else response.writeHead(307, { location: url === '/team/a' ? 'b' : url }).end();
    });
    expect(await fetchArchive(at('https://archives.test/team/a'), sources)).toEqual(BYTES);
    expect(await codeOf(fetchArchive(at('https://archives.test/team/round'), sources))).toBe('archive_unavailable');
  });
});

describe('a URL is read only where the deployment says', () => {
  test.each([
    'https://archives.test/teams/a',
    'https://archives.test.evil.test/team/a',
    'https://archives.test:8443/team/a',
    'https://user:secret@archives.test/team/a',
    'https://archives.test/team/../other/a',
    'https://archives.test/team/%2e%2e/other/a',
    'https://archives.test/team/%2e%2e%2fother/a',
    'https://archives.test/team/%zz',
    'http://archives.test/team/a',
    'ftp://archives.test/team/a',
    'data:application/gzip;base64,AAAA',
    'file:///team/a',
    'file://archives.test/team/a',
    'team/a',
    '',
  ])('not %s', (url) => {
    expect(() => allowedUrl(url, ALLOWED)).toThrow(/archive/);
  });

  test('nothing is allowed unless something is', () => {
    expect(() => allowedUrl('https://archives.test/team/a', [])).toThrow(/TRUSS_ARCHIVE_URLS/);
    expect(allowedUrl('https://archives.test/team/a?v=1', ALLOWED).search).toBe('?v=1');
  });
});

describe('an archive at a file: URL', () => {
  test('is read from the folders that are allowed, and not through a link out of them', async () => {
    const folder = await emptyFolder();
    await mkdir(join(folder, 'shared'));
    await writeFile(join(folder, 'shared', 'a.tar.gz'), BYTES);
    await writeFile(join(folder, 'secret'), BYTES);
    await symlink('../secret', join(folder, 'shared', 'link'));
    const allowed = [pathToFileURL(join(folder, 'shared')).href];
    const read = (name: string) =>
      fetchArchive(at(pathToFileURL(join(folder, name)).href), { attachment: async () => null, allowed });
    expect(await read('shared/a.tar.gz')).toEqual(BYTES);
    expect(await codeOf(read('secret'))).toBe('archive_not_allowed');
    expect(await codeOf(read('shared/link'))).toBe('archive_not_allowed');
    expect(await codeOf(read('shared/absent'))).toBe('archive_unavailable');
    expect(await codeOf(read('shared/.'))).toBe('archive_not_allowed');
  });
});

describe('an archive in the log', () => {
  test('is read by its hash, and must be there', async () => {
    const sources = { attachment: async (sha: string) => (sha === REF.sha256 ? BYTES : null), allowed: [] };
    expect(await fetchArchive({ ...REF, url: null }, sources)).toEqual(BYTES);
    expect(await codeOf(fetchArchive({ ...REF, sha256: 'ab'.repeat(32), url: null }, sources))).toBe(
      'archive_unavailable',
    );
  });

  test('larger than any may be is not even asked for', async () => {
    const sources = { attachment: () => Promise.reject(new Error('asked')), allowed: [] };
    expect(await codeOf(fetchArchive({ ...REF, size: 2 ** 40, url: null }, sources))).toBe('archive_too_large');
  });
});
