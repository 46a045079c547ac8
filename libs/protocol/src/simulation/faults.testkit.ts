import type { DecideInput, EvaluationView } from '#lib/evaluation';
import {
  type BodyOf,
  type ChildRunId,
  fold,
  type EntryHash,
  fromHex,
  headOf,
  joins,
  type Joining,
  type LinkedEntry,
  type LiveChains,
  merkleRoot,
  sameWriter,
  toHex,
} from '#lib/ledger';
import type { CoreEnv } from '../effects.js';
import { OwnerCore } from '../owner.js';
import { ProjectionCore, type ProjectionEffect } from '../projection.js';
import { RunCore, type RunEffect } from '../run.js';
import { type Rules, SOUND } from './rules.testkit.js';

/** A fold with one more way to join: `more` takes the entry in itself where it applies. */
function loosened(
  joinsToo: (live: LiveChains, entry: LinkedEntry) => boolean,
  make: (live: LiveChains, entry: LinkedEntry) => Joining,
) {
  return {
    joins: (live: LiveChains, entry: LinkedEntry) => joins(live, entry) || joinsToo(live, entry),
    fold: (live: LiveChains, entry: LinkedEntry) =>
      !joins(live, entry) && joinsToo(live, entry) ? make(live, entry) : fold(live, entry),
  };
}

function openChild(live: LiveChains, entry: LinkedEntry) {
  const child = live.closed === null ? live.children.get(entry.ledger as ChildRunId) : undefined;
  return child === undefined || child.sealed || child.anchored || child.chain === null ? null : child;
}

/** A `writer_changed` that names the writer of any entry cuts off what came after it. */
function takeOverBelowTheLiveHead(): Rules {
  const below = (live: LiveChains, entry: LinkedEntry): boolean => {
    const chain = openChild(live, entry)?.chain;
    if (chain == null || entry.type !== 'writer_changed' || entry.seq === 0 || entry.seq > chain.hashes.length)
      return false;
    const { displaced } = entry.body as BodyOf<'writer_changed'>;
    return (
      chain.hashes[entry.seq - 1] === entry.prev &&
      chain.hashes[entry.seq] !== entry.hash &&
      sameWriter(displaced, chain.writer)
    );
  };
  const cut = (live: LiveChains, entry: LinkedEntry): Joining => {
    const chain = openChild(live, entry)?.chain;
    if (chain == null) return 'superseded';
    chain.hashes.length = entry.seq;
    chain.hashes.push(entry.hash);
    chain.writer = { key: entry.key, session: entry.session };
    return 'joined';
  };
  return { ...SOUND, name: 'a take-over below the live head', ...loosened(below, cut) };
}

/** Whoever comes first at a seq counts, whatever stands before it and whoever writes it. */
function theFirstEntryAtASeqWins(): Rules {
  const next = (live: LiveChains, entry: LinkedEntry): boolean =>
    entry.type !== 'run_started' && openChild(live, entry)?.chain?.hashes.length === entry.seq;
  const take = (live: LiveChains, entry: LinkedEntry): Joining => {
    const child = openChild(live, entry);
    if (child?.chain == null) return 'superseded';
    child.chain.hashes.push(entry.hash);
    child.chain.writer = { key: entry.key, session: entry.session };
    if (entry.type === 'run_sealed') child.sealed = true;
    return 'joined';
  };
  return { ...SOUND, name: 'the first entry at a seq wins', ...loosened(next, take) };
}

/** Sealed branches that joined nothing, by run: what an owner sees who does not fold the live chain. */
const branches = new WeakMap<
  LiveChains,
  Map<ChildRunId, { readonly hashes: readonly EntryHash[]; readonly seal: BodyOf<'run_sealed'> }>
>();

function anAnchorOnAnySealedBranch(): Rules {
  class Owner extends OwnerCore {
    protected override drafts(view: EvaluationView, input: DecideInput) {
      for (const [id, { hashes, seal }] of branches.get(view.live) ?? []) {
        const child = view.state.children.get(id);
        if (child === undefined || child.sealed !== null || child.anchor !== null) continue;
        const root = toHex(merkleRoot(hashes.map((hash) => fromHex(hash)))) as EntryHash;
        const superseded = { count: 0, hashes: [], usage: seal.interrupted };
        const { verdict, verdict_ref, usage } = seal;
        const head = hashes.at(-1) as EntryHash;
        const body = {
          child_run_id: id,
          entries: hashes.length,
          root_hash: root,
          head_hash: head,
          verdict,
          verdict_ref,
          usage,
          superseded,
        };
        return [{ type: 'child_anchor', body } as const];
      }
      return super.drafts(view, input);
    }
  }
  return {
    ...SOUND,
    name: 'an anchor on any sealed branch',
    owner: Owner,
    fold: (live, entry) => {
      const joining = fold(live, entry);
      const chain = live.children.get(entry.ledger as ChildRunId)?.chain;
      if (
        joining === 'superseded' &&
        entry.type === 'run_sealed' &&
        chain != null &&
        chain.hashes[entry.seq - 1] === entry.prev
      ) {
        const known = branches.get(live) ?? new Map();
        known.set(entry.ledger, {
          hashes: [...chain.hashes.slice(0, entry.seq), entry.hash],
          seal: entry.body as BodyOf<'run_sealed'>,
        });
        branches.set(live, known);
      }
      return joining;
    },
  };
}

function aSessionKeptAfterALoss(): Rules {
  class Owner extends OwnerCore {
    private kept: string | null = null;
    protected override newSession(env: CoreEnv): string {
      return (this.kept ??= super.newSession(env));
    }
  }
  class Run extends RunCore {
    private kept: string | null = null;
    protected override newSession(env: CoreEnv): string {
      return (this.kept ??= super.newSession(env));
    }
  }
  return { ...SOUND, name: 'a session kept after a loss', owner: Owner, run: Run };
}

function anEffectWithoutTheSecondCheck(): Rules {
  class Owner extends OwnerCore {
    protected override mayAct(): boolean {
      return true;
    }
  }
  class Run extends RunCore {
    protected override mayAct(): boolean {
      return true;
    }
  }
  return { ...SOUND, name: 'an effect without the second check', owner: Owner, run: Run };
}

function writerChangedAfterTheSeal(): Rules {
  const afterTheSeal = (live: LiveChains, entry: LinkedEntry): boolean => {
    const child = live.closed === null ? live.children.get(entry.ledger as ChildRunId) : undefined;
    if (child?.chain == null || !child.sealed || child.anchored || entry.type !== 'writer_changed') return false;
    return headOf(child.chain) === entry.prev && entry.seq === child.chain.hashes.length;
  };
  const take = (live: LiveChains, entry: LinkedEntry): Joining => {
    const chain = live.children.get(entry.ledger as ChildRunId)?.chain;
    if (chain == null) return 'superseded';
    chain.hashes.push(entry.hash);
    chain.writer = { key: entry.key, session: entry.session };
    return 'joined';
  };
  class Run extends RunCore {
    protected override isOver(view: EvaluationView): boolean {
      return view.live.closed !== null || view.live.children.get(this.child)?.anchored === true;
    }
  }
  return { ...SOUND, name: 'writer_changed after the seal', run: Run, ...loosened(afterTheSeal, take) };
}

/** The owner that comes back believes that the one in between has sent all commands. */
function commandsSentAgainOnlyOnRestart(): Rules {
  class Owner extends OwnerCore {
    private wasWriter = false;
    protected override sentBefore(view: EvaluationView): Set<ChildRunId> {
      const sent = this.wasWriter ? new Set(view.state.open) : super.sentBefore(view);
      this.wasWriter = true;
      return sent;
    }
  }
  return { ...SOUND, name: 'commands sent again only on restart', owner: Owner };
}

function aCommandFinishedOnLost(): Rules {
  class Run extends RunCore {
    protected override lost(): RunEffect[] {
      this.state.phase = 'done';
      return [{ kind: 'finished' }];
    }
  }
  return { ...SOUND, name: 'a command finished on lost', run: Run };
}

function anOffsetPastTheCloseBeforeTheReport(): Rules {
  class Projection extends ProjectionCore {
    protected override unread(): ProjectionEffect[] {
      return this.finish();
    }
    override step(...[event, view, env]: Parameters<ProjectionCore['step']>): ProjectionEffect[] {
      const effects = super.step(event, view, env);
      return this.state.phase === 'reporting' ? [...effects, ...this.finish()] : effects;
    }
  }
  return { ...SOUND, name: 'an offset past eval_closed before the report', projection: Projection };
}

/** Each loosens one rule of DESIGN.md's section on writing, or one of the Kafka adapter, of consumers or of leases. */
export const FAULTS: readonly Rules[] = [
  takeOverBelowTheLiveHead(),
  theFirstEntryAtASeqWins(),
  anAnchorOnAnySealedBranch(),
  aSessionKeptAfterALoss(),
  anEffectWithoutTheSecondCheck(),
  writerChangedAfterTheSeal(),
  commandsSentAgainOnlyOnRestart(),
  aCommandFinishedOnLost(),
  anOffsetPastTheCloseBeforeTheReport(),
  { ...SOUND, name: 'a position trusted', trustsPositions: true },
  { ...SOUND, name: 'an append answered at its acknowledgement', answersAtAcknowledgement: true },
  { ...SOUND, name: 'a commit for a partition that was lost', keepsLostTrackers: true },
  { ...SOUND, name: 'a beginning overwritten by a later acceptance', laterBeginningsCount: true },
  { ...SOUND, name: 'a take-over from a lease store that came back empty', trustsEmptyStores: true },
  { ...SOUND, name: 'a late end that ends what began since', releasesByName: true },
  { ...SOUND, name: 'a repeat compared with what was seen first', comparesWithTheFirst: true },
  { ...SOUND, name: 'a command that nobody asked for, looked at once', asksAgain: false },
];
