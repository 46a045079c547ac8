import { setTimeout as wait } from 'node:timers/promises';
import { openRequester } from '#lib/key-store';
import type { EvalRunId, JsonValue } from '#lib/ledger';
import { requesterKeys, signCancel } from '#lib/requests';
import { EvaluationViews } from '#lib/runtime';
import { assertOpen, tooLate } from '../cancel.js';
import type { Context } from '../commands/context.js';
import { evaluationId, notFound, type ReadDatabase, requestOf, withDatabase } from '../database.js';
import { EXIT, type ExitCode, stoppedError, usageError } from '../exit-codes.js';
import { plural } from '../format.js';
import { readParent } from '../read-parent.js';

/** How long an owner may take until it has closed the evaluation. */
const PATIENCE_MS = 30_000;

/** A signature is good for so long: a cancel that waited longer is asked for again. */
const VALID_MS = 3_600_000;

export interface CancelFlags {
  readonly reason: string;
  /** File of the private key of a requester: whoever asked for the evaluation, where they have one. */
  readonly key?: string;
  readonly audience: string;
}

/** `truss cancel` on a cluster: asks the owner of the evaluation, and waits until it is closed. */
export async function cancelOnCluster(
  id: string,
  flags: CancelFlags,
  { place, terminal: { out } }: Pick<Context, 'place' | 'terminal'>,
  patienceMs = PATIENCE_MS,
): Promise<ExitCode> {
  const evaluation = evaluationId(id, place);
  return withDatabase(place, async (cluster) => {
    const before = await readParent(cluster, evaluation);
    const request = await requestOf(cluster, evaluation);
    if (before.started === null && request === null) throw notFound(id, place);
    assertOpen(before, id);
    const cancel = await cancelOf(evaluation, request?.requester ?? null, flags, cluster);
    await cluster.topics.publish('eval.requested', evaluation, cancel);
    const views = new EvaluationViews({ log: cluster.log });
    try {
      const { view, subscribe } = await views.open(evaluation);
      const closed = Promise.withResolvers<void>();
      const look = (): void => {
        if (view.state.closed !== null) closed.resolve();
      };
      subscribe(look);
      look();
      await Promise.race([closed.promise, wait(patienceMs, undefined, { ref: false })]);
      const { state } = view;
      if (state.closed === null) {
        throw stoppedError(
          `the cancel of ${id} is sent, and nothing has come of it yet: it takes effect once a coordinator runs. See what it did, or why it was refused, with:\n` +
            `  truss list ${place.option}\n  truss dead-letter list ${place.option}`,
        );
      }
      if (state.closed.body.outcome === 'complete') throw tooLate(id);
      await out.write(`${id} is ${state.closed.body.outcome}: ${plural(state.anchors, 'run')} of it stay recorded.\n`);
      return EXIT.done;
    } finally {
      await views.close(evaluation);
    }
  });
}

/** @throws CliError, KeyStoreError, RequestError where intake would refuse it */
async function cancelOf(
  evaluation: EvalRunId,
  requester: string | null,
  { reason, key, audience }: CancelFlags,
  { keys }: ReadDatabase,
): Promise<JsonValue> {
  const cancel = { kind: 'cancel', eval_run_id: evaluation, reason } as const;
  const known = requesterKeys(keys);
  if (key === undefined) {
    if (requester === null || !known.has(requester)) return cancel;
    throw usageError(
      `${requester} asked for ${evaluation}, and it is theirs to cancel: add --key FILE of ${requester}`,
    );
  }
  const signer = openRequester(key);
  const { operator } = known.active(signer.keyId);
  if (requester !== null && operator !== requester) {
    throw usageError(`the key is ${operator}'s, and ${requester} asked for ${evaluation}: give a key of ${requester}`);
  }
  return signCancel(cancel, signer, { audience, expires: Date.now() + VALID_MS });
}
