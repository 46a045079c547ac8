import type { AppendAnswer, EventLog } from '#lib/event-log';
import type { EvaluationView } from '#lib/evaluation';
import {
  chainOf,
  type ChildRunId,
  type Draft,
  type EntryHash,
  genesisHash,
  headOf,
  type LedgerId,
  type Place,
  signDraft,
  type SignedDraft,
  type Signer,
} from '#lib/ledger';

/** Signs drafts for the live head of their ledger and appends them. */
export class LedgerWriter {
  constructor(
    private readonly log: EventLog,
    private readonly signer: Signer,
    private readonly now: () => number,
  ) {}

  async write(
    view: EvaluationView,
    ledger: LedgerId,
    session: string,
    drafts: readonly Draft[],
  ): Promise<AppendAnswer> {
    let { prev, seq } = nextPlace(view, ledger);
    const signed: SignedDraft[] = [];
    for (const draft of drafts) {
      const place: Place = { eval: view.live.eval, ledger, prev, seq, session, at: this.timeOf(draft, view) };
      const next = await signDraft(draft, place, this.signer);
      signed.push(next);
      prev = next.entry.hash;
      seq += 1;
    }
    return this.log.append(signed);
  }

  // The report is a pure fold with no clock of its own: its time is that of the close.
  private timeOf(draft: Draft, view: EvaluationView): string {
    if (draft.type === 'eval_report' && view.state.closed !== null) return view.state.closed.at;
    return new Date(this.now()).toISOString();
  }
}

function nextPlace(view: EvaluationView, ledger: LedgerId): { prev: EntryHash; seq: number } {
  const chain = chainOf(view.live, ledger);
  if (chain !== null) return { prev: headOf(chain), seq: chain.hashes.length };
  if (ledger === view.live.eval) return { prev: genesisHash(view.live.eval), seq: 0 };
  const child = view.live.children.get(ledger as ChildRunId);
  if (child === undefined) throw new Error(`run ${ledger} was not requested`);
  return { prev: child.requested, seq: 0 };
}
