import { setTimeout as wait } from 'node:timers/promises';
import type { Topics } from '#lib/event-log';
import { RequestError } from './errors.js';
import { openRegistration, type Registration, registrationKey } from './registration.js';
import type { RequesterKeys } from './requester-keys.js';

export interface RegistryOptions {
  readonly topics: Pick<Topics, 'list'>;
  readonly keys: RequesterKeys;
  /** The name of this deployment. */
  readonly audience: string;
  /** Milliseconds on a clock that does not go back. */
  readonly now: () => number;
}

/** A digest that is not known is looked for in the topic at most so often. */
const LOOK_MS = 1_000;
/** After so long the next request has it looked up again, for the one after: a registration may have been taken back. */
const STALE_MS = 30_000;

/** Every registration that stands on `eval.contract` now, of those that a requester signed for this deployment. */
export async function listRegistrations({
  topics,
  keys,
  audience,
}: Omit<RegistryOptions, 'now'>): Promise<Registration[]> {
  const latest = new Map<string, Registration>();
  for await (const { key, value } of topics.list('eval.contract')) {
    if (value === null) {
      latest.delete(key);
      continue;
    }
    const registration = await openRegistration(value, { keys, audience });
    if (registration !== null && registrationKey(registration) === key) latest.set(key, registration);
  }
  return [...latest.values()];
}

/** The registered contracts, held in memory. */
export class Registry {
  #known = new Map<string, Registration>();
  #lookedAt = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | null = null;

  constructor(private readonly options: RegistryOptions) {}

  /** @throws RequestError `contract_not_registered`; whatever the topic throws */
  async find(id: string, digest: string): Promise<Registration> {
    const name = registrationKey({ id, digest });
    const age = this.options.now() - this.#lookedAt;
    if (!this.#known.has(name)) {
      if (age < LOOK_MS) await wait(LOOK_MS - age);
      await this.#look();
    } else if (age > STALE_MS) this.#look().catch(() => {});
    const found = this.#known.get(name);
    if (found !== undefined) return found;
    throw new RequestError(
      'contract_not_registered',
      `no contract ${id} with the digest ${digest} is registered here: \`truss contracts register\` does it, and \`truss contracts list\` shows what is`,
    );
  }

  #look(): Promise<void> {
    this.#looking ??= (async () => {
      const found = await listRegistrations(this.options);
      this.#known = new Map(found.map((one) => [registrationKey(one), one]));
      this.#lookedAt = this.options.now();
    })().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }
}
