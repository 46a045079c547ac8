import type { Process } from './process.testkit.js';
import { Violation } from './referee.testkit.js';
import type { World } from './world.testkit.js';

export interface LeaseClient {
  /** @param begun the work has a writer already, so that taking the lease is a take-over */
  hold(name: string, begun: boolean, answer: (held: boolean) => void): void;
  release(name: string): void;
}

interface Lease {
  readonly holder: string;
  readonly until: number;
}

/** What all processes share, and what is known from outside of who was granted what. */
export class LeaseStore {
  readonly leases = new Map<string, Lease>();
  /** Grants that were written down, whatever the store has forgotten since. */
  private readonly granted = new Map<string, Lease>();
  /** Since when the store knows who is alive; null: it came back empty, and nobody has asked yet. */
  private since: number | null = null;
  /** When the processes last lost their connections. */
  disconnectedAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly world: World) {}

  empty(): void {
    this.leases.clear();
    this.since = null;
    if (this.world.chance.chance(0.7)) this.disconnectedAt = this.world.now;
  }

  /** One atomic step of the store. A lease may be wrong: then it says that the other's is not there. */
  hold(name: string, holder: string, ttl: number, takeOver: boolean): boolean {
    const { world, leases } = this;
    const { chance, mix, now, rules } = world;
    this.since ??= rules.trustsEmptyStores ? Number.NEGATIVE_INFINITY : now;
    const found = leases.get(name);
    const wrong = world.faulty && mix.leaseWrong > 0 && chance.chance(mix.leaseWrong);
    const held = found !== undefined && found.until > now && !wrong ? found : undefined;
    if (held !== undefined && held.holder !== holder) return false;
    if (held === undefined && takeOver && now < this.since + ttl) return false;
    if (takeOver && !wrong) this.judge(name, holder);
    const lease = { holder, until: now + ttl };
    leases.set(name, lease);
    this.granted.set(name, lease);
    return true;
  }

  release(name: string, holder: string): void {
    if (this.leases.get(name)?.holder === holder) this.leases.delete(name);
    if (this.granted.get(name)?.holder === holder) this.granted.delete(name);
  }

  /** No run is taken from who renewed less than a lease time ago, whatever became of the store. */
  private judge(name: string, holder: string): void {
    const other = this.granted.get(name);
    if (other === undefined || other.holder === holder || other.until <= this.world.now) return;
    throw new Violation('lease_of_the_living', `${holder} was given ${name}, which ${other.holder} holds`);
  }
}

/** A connection to the store by the rules of the Redis adapter: while it cannot be asked, fresh work and what runs go on, and nobody takes over. */
export function leaseClient(process: Process): LeaseClient {
  const { world } = process;
  const holder = process.holder;
  const store = () => world.leaseStore;
  const granted = new Set<string>();
  const asking = new Map<string, symbol>();
  let failedAt = Number.NEGATIVE_INFINITY;
  let last = 0;
  /** Calls of one connection reach the store in their order. */
  const reach = (call: () => void): void => {
    last = Math.max(last, world.now + world.latency());
    world.later(last - world.now, null, call);
  };
  return {
    hold(name, begun, answer) {
      const { leaseMs, leaseFails } = world.mix;
      const takeOver = begun && !granted.has(name);
      const reply = (held: boolean) => world.later(world.latency(), process, () => answer(held));
      if (takeOver && world.now < Math.max(failedAt, store().disconnectedAt) + leaseMs) return reply(false);
      const call = Symbol(name);
      asking.set(name, call);
      const fails = world.faulty && world.chance.chance(leaseFails);
      const lands = !fails || world.chance.chance(0.5);
      reach(() => {
        const stored = lands && store().hold(name, holder, leaseMs, takeOver);
        world.later(world.latency(), process, () => {
          if (fails) failedAt = world.now;
          const held = fails ? !takeOver : stored;
          if (asking.get(name) === call) {
            asking.delete(name);
            if (held) granted.add(name);
            else granted.delete(name);
          }
          answer(held);
        });
      });
    },
    release(name) {
      granted.delete(name);
      asking.delete(name);
      reach(() => store().release(name, holder));
    },
  };
}
