import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type Header, pack } from 'tar-stream';
import { onTestFinished } from 'vitest';

export type TarEntry = Partial<Header> & { readonly name: string; readonly content?: string | Uint8Array };

/** A tar.gz of exactly these entries, however bad they are. */
export async function tarOf(...entries: readonly TarEntry[]): Promise<Uint8Array> {
  return gzipSync(await plainTarOf(...entries));
}

export async function plainTarOf(...entries: readonly TarEntry[]): Promise<Buffer> {
  const tar = pack();
  for (const { content, ...header } of entries) {
    if (content === undefined && header.type !== undefined && header.type !== 'file') tar.entry(header);
    else tar.entry(header, content ?? '');
  }
  tar.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of tar as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** An empty folder, gone after the test. */
export async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'truss-archive-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export async function folderOf(files: Readonly<Record<string, string | Uint8Array>>): Promise<string> {
  const folder = await emptyFolder();
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
  return folder;
}

/** A contract with a workspace, a program of its agent, cases and a link: one of each that an archive holds. */
export const CONTRACT = {
  'contract.toml': [
    'id = "travel"',
    'instructions = "Do {{inputs.what}}."',
    'cases_file = "cases.jsonl"',
    '[workspace]',
    'path = "work"',
    '[agent]',
    'kind = "command"',
    'command = ["node", "agent.mjs"]',
    '[[criteria]]',
    'id = "ok"',
    'kind = "match"',
    'file = "answer.txt"',
    'equals = "yes"',
    '[budget]',
    'timeout = "60s"',
    '',
  ].join('\n'),
  'agent.mjs': "import { writeFileSync } from 'node:fs';\nwriteFileSync('answer.txt', 'yes');\n",
  'cases.jsonl': '{"id":"a","inputs":{"what":"it"}}\n{"id":"b","inputs":{"what":"that"}}\n',
  'work/notes/read me.md': 'Hello.\n',
  'work/empty.txt': '',
  'beside.txt': 'named by nothing',
} as const;
