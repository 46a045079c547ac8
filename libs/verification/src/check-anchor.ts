import type { ChildRecord } from '#lib/evaluation';
import {
  addUsage,
  type ChildRunId,
  type Entry,
  type EntryHash,
  type EntryOf,
  fromHex,
  MerkleTree,
  NO_SPEND,
  toHex,
  type Usage,
} from '#lib/ledger';
import { usageOf } from '#lib/evaluation';
import { type ChainRead, readBackwards, readForwards } from './chain.js';
import { sameUsage } from './check-usage.js';
import { verdictRefFault } from './check-verdict.js';
import type { Context } from './context.js';
import type { RunRead } from './check-run.js';

/**
 * Step 7: the child's chain, read backwards from the head that its anchor names. A head that is not at hand is a ledger cut short, unless another
 * branch of that length or a sealed one is: then the anchor is of something else.
 */
export function readAnchored(context: Context, anchor: EntryOf<'child_anchor'>, record: ChildRecord): ChainRead {
  const { entries, head_hash } = anchor.body;
  const { index, findings } = context;
  const origin = record.request.hash;
  const head = index.get(head_hash);
  if (head !== undefined && head.ledger === record.id) {
    if (head.seq !== entries - 1)
      findings.error(
        'anchor_mismatch',
        anchor,
        `the anchor of ${record.id} counts ${entries} entries, and its head has seq ${head.seq}`,
      );
    const chain = readBackwards(context, head, origin);
    return { entries: chain.entries, whole: chain.whole && head.seq === entries - 1 };
  }
  const defect = index.defect(head_hash);
  const forwards = readForwards(context, record.id, origin);
  if (defect !== undefined)
    findings.error(defect.code, { ledger: record.id, seq: entries - 1, position: defect.position }, defect.reason);
  else if (head !== undefined || forwards.at(-1)?.type === 'run_sealed' || forwards.length >= entries) {
    findings.error('anchor_mismatch', anchor, `the anchor of ${record.id} names a head that is not of that run`);
  } else {
    findings.error(
      'ledger_truncated',
      { ledger: record.id, seq: forwards.length },
      `the run has ${entries} entries by its anchor, and ${forwards.length} are here`,
    );
  }
  return { entries: forwards, whole: false };
}

/** Step 9: what the anchor says of the run is what the run is: root, verdict and ref, usage, and what was superseded. */
export async function checkAnchor(
  context: Context,
  anchor: EntryOf<'child_anchor'>,
  record: ChildRecord,
  chain: ChainRead,
  run: RunRead,
): Promise<void> {
  const { body } = anchor;
  const wrong = (message: string): void =>
    context.findings.error('anchor_mismatch', anchor, `anchor of ${record.id}: ${message}`);
  const tree = new MerkleTree();
  for (const { hash } of chain.entries) tree.append(fromHex(hash));
  if (toHex(tree.root()) !== body.root_hash) wrong('the root is not that over the entries of the run');
  if (chain.entries.at(-1)?.type !== 'run_sealed') wrong('the run it anchors is not sealed');
  context.checked.proofs += 1;
  context.checked.anchors += 1;
  await checkSuperseded(context, anchor, chain);
  if (run === null || !run.derived) return;
  const fault = verdictRefFault(run.entries, body.verdict_ref, body.verdict);
  if (fault !== null) context.findings.error('verdict_ref_invalid', anchor, `anchor of ${record.id}: ${fault}`);
  const { sealed } = record;
  if (sealed === null) return;
  if (body.verdict_ref !== sealed.verdict_ref)
    context.findings.error(
      'verdict_ref_invalid',
      anchor,
      `anchor of ${record.id}: the run was sealed with another verdict ref`,
    );
  if (!sameUsage(body.usage, sealed.usage))
    context.findings.error('usage_mismatch', anchor, `anchor of ${record.id}: the usage is not that of the run`);
}

async function checkSuperseded(context: Context, anchor: EntryOf<'child_anchor'>, chain: ChainRead): Promise<void> {
  const { child_run_id, superseded } = anchor.body;
  const wrong = (message: string): void =>
    context.findings.error('usage_mismatch', anchor, `anchor of ${child_run_id}: ${message}`);
  const hashes = new Set<EntryHash>(superseded.hashes);
  if (hashes.size !== superseded.hashes.length || superseded.count < hashes.size)
    wrong('it lists a superseded entry twice, or counts fewer than it lists');
  if (superseded.count === 0) {
    if (!sameUsage(superseded.usage, NO_SPEND)) wrong('nothing was superseded, and it has usage');
    return;
  }
  if (chain.entries.some(({ hash }) => hashes.has(hash))) wrong('it lists an entry of the run as superseded');
  const usage = await supersededUsage(context, child_run_id, hashes);
  if (usage === null || superseded.count !== hashes.size) {
    context.findings.information(
      'superseded',
      anchor,
      `not every entry that the anchor of ${child_run_id} lists as superseded is at hand: its usage is as the anchor states it`,
    );
  } else if (!sameUsage(usage, superseded.usage)) wrong('the usage of what was superseded is not that of its entries');
}

async function supersededUsage(
  context: Context,
  child: ChildRunId,
  hashes: ReadonlySet<EntryHash>,
): Promise<Usage | null> {
  let usage = NO_SPEND;
  for (const hash of hashes) {
    const stored = context.index.get(hash);
    if (stored === undefined || stored.ledger !== child) return null;
    const typed = await context.bodies.read(stored);
    if (typed.kind !== 'entry') return null;
    usage = addUsage(usage, usageOf(typed.entry satisfies Entry));
  }
  return usage;
}
