import { createMemoryLeases } from '#lib/event-log';
import { SIGNERS } from '../../verification/src/evaluation.testkit.js';
import type { Ports } from './ports.js';

/** What a service is given of the world: what a test says, and as little of the rest as can be. */
export function testPorts(part: Pick<Ports, 'log' | 'topics' | 'keys' | 'fatal'> & Partial<Ports>): Ports {
  return {
    leases: createMemoryLeases(() => performance.now()),
    signers: SIGNERS,
    trustStore: { sha256: '0'.repeat(64), size: 0 },
    contracts: { fetch: async () => {}, locate: () => null, whyNot: () => null },
    requests: { resolve: () => Promise.reject(new Error('no intake here')), admit: async () => null },
    models: { env: {} },
    software: { truss: '0', node: '24' },
    leaseMs: 1_000,
    slots: 1,
    drives: () => true,
    now: () => Date.now(),
    random128: () => crypto.randomUUID().replaceAll('-', ''),
    below: (bound) => Math.floor(Math.random() * bound),
    ...part,
  };
}
