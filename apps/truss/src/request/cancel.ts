import { setTimeout as wait } from 'node:timers/promises';
import { EvaluationViews } from '#lib/runtime';
import { assertOpen, tooLate } from '../cancel.js';
import type { Context } from '../commands/context.js';
import { evaluationId, notFound, requestOf, withDatabase } from '../database.js';
import { EXIT, type ExitCode, stoppedError } from '../exit-codes.js';
import { plural } from '../format.js';
import { readParent } from '../read-parent.js';

/** How long an owner may take until it has closed the evaluation. */
const PATIENCE_MS = 30_000;

/** `truss cancel` on a cluster: asks the owner of the evaluation, and waits until it is closed. */
export async function cancelOnCluster(
  id: string,
  reason: string,
  { place, terminal: { out } }: Pick<Context, 'place' | 'terminal'>,
  patienceMs = PATIENCE_MS,
): Promise<ExitCode> {
  const evaluation = evaluationId(id, place);
  return withDatabase(place, async (cluster) => {
    const before = await readParent(cluster, evaluation);
    if (before.started === null && (await requestOf(cluster, evaluation)) === null) throw notFound(id, place);
    assertOpen(before, id);
    await cluster.topics.publish('eval.requested', evaluation, { kind: 'cancel', eval_run_id: evaluation, reason });
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
          `the cancel of ${id} is sent, and nothing has come of it yet: it takes effect once a coordinator runs. See what it did with:\n` +
            `  truss list ${place.option}`,
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
