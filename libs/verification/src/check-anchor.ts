import { type ChildRecord, MAX_SUPERSEDED_LISTED, usageOf } from '#lib/evaluation';
import { addUsage, type EntryHash, type EntryOf, fromHex, MerkleTree, NO_SPEND, toHex, type Usage } from '#lib/ledger';
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
  const fault = run === null ? null : verdictRefFault(run, body.verdict_ref, body.verdict);
  if (fault !== null) context.findings.error('verdict_ref_invalid', anchor, `anchor of ${record.id}: ${fault}`);
  const { sealed } = record;
  if (sealed === null) return;
  if (body.entries !== sealed.entries)
    wrong(`it counts ${body.entries} entries, and the run is sealed with ${sealed.entries}`);
  if (body.verdict !== sealed.verdict)
    context.findings.error(
      'verdict_ref_invalid',
      anchor,
      `anchor of ${record.id}: it says ${body.verdict}, the run was sealed with ${sealed.verdict}`,
    );
  if (body.verdict_ref !== sealed.verdict_ref)
    context.findings.error(
      'verdict_ref_invalid',
      anchor,
      `anchor of ${record.id}: the run was sealed with another verdict ref`,
    );
  if (!sameUsage(body.usage, sealed.usage))
    context.findings.error('usage_mismatch', anchor, `anchor of ${record.id}: the usage is not that of the run`);
}

/** What was superseded is on no chain, so K may take it away; what is left of it bears the usage that the anchor states, or is contradicted by it. */
async function checkSuperseded(context: Context, anchor: EntryOf<'child_anchor'>, chain: ChainRead): Promise<void> {
  const { child_run_id, superseded } = anchor.body;
  const { count, hashes, usage } = superseded;
  const wrong = (message: string): void =>
    context.findings.error('usage_mismatch', anchor, `anchor of ${child_run_id}: ${message}`);
  const listed = new Set<EntryHash>(hashes);
  if (listed.size !== hashes.length) wrong('it lists a superseded entry twice');
  if (hashes.length !== Math.min(count, MAX_SUPERSEDED_LISTED))
    wrong(
      `it counts ${count} superseded entries and lists ${hashes.length}: the first ${MAX_SUPERSEDED_LISTED} are listed`,
    );
  if (chain.entries.some(({ hash }) => listed.has(hash))) wrong('it lists an entry of the run as superseded');
  let found = NO_SPEND;
  let missing = count - listed.size;
  for (const hash of listed) {
    const stored = context.index.get(hash);
    if (stored !== undefined && stored.ledger !== child_run_id)
      wrong(`it lists an entry of ${stored.ledger} as superseded`);
    const typed = stored === undefined ? null : await context.bodies.read(stored, true);
    if (typed?.kind === 'entry') found = addUsage(found, usageOf(typed.entry));
    else missing += 1;
  }
  if (missing <= 0) {
    if (!sameUsage(found, usage)) wrong('the usage of what was superseded is not that of its entries');
    return;
  }
  if (!isPartOf(found, usage))
    wrong('the usage of what was superseded is less than that of its entries that are at hand');
  context.findings.warning(
    'superseded_unchecked',
    anchor,
    `of ${count} superseded entries of ${child_run_id} ${missing} are not at hand or not listed: their usage is as the anchor states it`,
  );
}

/** Whether something could be added to a usage to give the other. */
function isPartOf(part: Usage, whole: Usage): boolean {
  const measured = (name: 'cost_nano_usd' | 'input_tokens' | 'output_tokens'): boolean =>
    (part[name] ?? 0) <= (whole[name] ?? 0);
  return (
    measured('cost_nano_usd') &&
    measured('input_tokens') &&
    measured('output_tokens') &&
    part.steps <= whole.steps &&
    part.unmeasured_calls <= whole.unmeasured_calls &&
    (part.unpriced_calls ?? 0) <= (whole.unpriced_calls ?? 0)
  );
}
