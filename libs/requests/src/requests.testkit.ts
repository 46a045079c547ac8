import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { packContract, type PackedContract } from '#lib/archive';
import type { TopicRecord } from '#lib/event-log';
import { type JsonValue, openTrustStore, toBase64, type TrustStore } from '#lib/ledger';
import { createMemoryLog } from '../../event-log/src/memory-log.testkit.js';
import { coordinator, executor, makeSigner, makeTrustStore, projector } from '../../event-log/src/fixtures.testkit.js';
import { quotaDefaults } from './quotas.js';
import { type OutsideOptions, outsideRequests } from './resolver.js';
import type { OutsideRequest } from './shape.js';

export const AUDIENCE = 'tests';
export const NOW = Date.parse('2026-12-01T10:00:00.000Z');
export const ana = makeSigner('requester', 'ana');
export const ben = makeSigner('requester', 'ben');
export const retired = makeSigner('requester', 'retired');

/** Each requester is an operator of their own. */
export const TRUST: TrustStore = {
  version: 1,
  keys: [
    ...makeTrustStore(coordinator, executor, projector).keys,
    ...Object.entries({ ana, ben, retired }).map(([operator, signer]) => ({
      ...(makeTrustStore(signer).keys[0] as TrustStore['keys'][number]),
      operator,
      status: operator === 'retired' ? ('retired' as const) : ('active' as const),
    })),
  ],
};
export const KEYS = openTrustStore(TRUST);

const CONTRACT = `id = "constant"
instructions = "Answer."
[agent]
kind = "fixed"
answer_text = "yes"
[[criteria]]
id = "yes"
kind = "match"
file = "answer.txt"
equals = "yes"
[budget]
max_steps = 100
timeout = "60s"
`;

/** A contract that needs no file; `more` goes after its first line. */
export function constant(more = ''): string {
  return CONTRACT.replace('\n', `\n${more}\n`);
}

export const PROGRAM = {
  'contract.toml': CONTRACT.replace(
    'kind = "fixed"\nanswer_text = "yes"',
    'kind = "command"\ncommand = ["node", "agent.mjs"]',
  ),
  'agent.mjs': "import { writeFileSync } from 'node:fs';\nwriteFileSync('answer.txt', 'yes');\n",
};

export async function packed(files: Readonly<Record<string, string>>): Promise<PackedContract> {
  const folder = await mkdtemp(join(tmpdir(), 'truss-request-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
  return packContract(join(folder, 'contract.toml'));
}

export function inline({ toml, archive }: Pick<PackedContract, 'toml' | 'archive'>): OutsideRequest['contract'] {
  if (archive === null) return { kind: 'inline', toml, archive: null };
  const { sha256, bytes } = archive;
  return { kind: 'inline', toml, archive: { sha256, size: bytes.length, bytes: toBase64(bytes), url: null } };
}

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

export function request(part: Partial<OutsideRequest> = {}): OutsideRequest {
  return {
    kind: 'eval',
    requester: 'ana',
    request_id: 'one',
    contract: { kind: 'inline', toml: constant(), archive: null },
    repeats: 1,
    replicates: null,
    seed: 7,
    concurrency: null,
    lessons: [],
    limits: { max_cost_nano_usd: null },
    deadline_ms: null,
    statistics: null,
    signature: null,
    ...part,
  };
}

/** A deployment's intake over a log in memory. */
export function deployment(part: Partial<OutsideOptions> = {}) {
  const open = createMemoryLog({ keys: KEYS });
  onTestFinished(() => open.close());
  const clock = { now: NOW };
  const resolver = outsideRequests({
    audience: AUDIENCE,
    keys: KEYS,
    log: open.log,
    topics: open.topics,
    now: () => clock.now,
    quotas: quotaDefaults,
    maxDeadlineMs: 72 * 3_600_000,
    sources: { allowed: [] },
    ...part,
  });
  return { ...open, clock, resolver, resolve: (value: unknown) => resolver.resolve(recordOf(value)) };
}

export function recordOf(value: unknown): TopicRecord {
  return { topic: 'eval.requested', partition: 0, position: 1, key: 'k', value: value as JsonValue };
}
