import { randomBytes, randomInt } from 'node:crypto';
import type { Logger } from 'pino';
import { createContractStore } from '#lib/archive';
import { createMemoryLeases } from '#lib/event-log';
import { createRedisLeases } from '#lib/event-log/redis';
import type { ServiceRole } from '#lib/key-store';
import { type AttachmentRef, sha256Hex, trustStoreBytes } from '#lib/ledger';
import { outsideRequests } from '#lib/requests';
import type { Ports } from '#lib/runtime';
import type { ServiceSettings } from '#lib/service';
import { createRedisViews } from '#lib/views/redis';
import type { Distributed } from '../distributed.js';
import { SOFTWARE } from '../software.js';
import { openSigners } from './signers.js';

/** Of the time of a stop, what a run may take to finish what it is at. The rest is for leaving the groups and flushing. */
const HAND_BACK_MS = 4_000;

/**
 * What the services are given on a cluster.
 * @throws KeyStoreError where the key of a role cannot be used
 */
export async function clusterPorts(
  roles: readonly ServiceRole[],
  settings: ServiceSettings,
  { log, topics, redis, trust, keys }: Distributed,
  logger: Logger,
  fatal: (error: unknown) => void,
): Promise<Ports> {
  const { prefix, requests, files } = settings;
  const signers = openSigners(roles, settings.keyFiles, trust);
  const allowed = files.archiveUrls;
  return {
    log,
    topics,
    leases:
      redis === null
        ? createMemoryLeases(() => performance.now())
        : createRedisLeases(redis, {
            prefix,
            fault: (err) => logger.warn({ err }, 'Redis did not answer for a lease'),
          }),
    ...(redis === null || !roles.includes('projector') ? {} : { views: createRedisViews(redis, { prefix }) }),
    keys,
    signers,
    trustStore: await trustStoreRef(roles, trustStoreBytes(trust), log),
    contracts: createContractStore({
      cacheDir: files.cacheDir,
      sources: { attachment: (sha256) => log.attachment(sha256), allowed },
      // A contract may have none; where a run needs them, its ledger says that they could not be had, and why.
      failed: (contract, err) => logger.debug({ contract, err }, 'no files of a contract'),
    }),
    requests: outsideRequests({
      ...requests,
      keys,
      log,
      topics,
      now: () => Date.now(),
      sources: { allowed },
      unexpected: (err) => logger.error({ err }, 'a request could not be judged, and was refused'),
    }),
    models: { env: process.env },
    software: SOFTWARE,
    leaseMs: settings.leaseMs,
    stallMs: Math.min(settings.leaseMs, settings.sessionMs) / 2,
    slots: settings.concurrency,
    handBackMs: HAND_BACK_MS,
    drives: () => true,
    now: () => Date.now(),
    random128: () => randomBytes(16).toString('hex'),
    below: (bound) => randomInt(bound),
    fatal,
  };
}

/** The coordinator names it in every `eval_started`, and so has it in the log first. */
async function trustStoreRef(
  roles: readonly ServiceRole[],
  bytes: Uint8Array,
  log: Distributed['log'],
): Promise<AttachmentRef> {
  if (roles.includes('coordinator')) return log.putAttachment(bytes);
  return { sha256: sha256Hex(bytes), size: bytes.length };
}
