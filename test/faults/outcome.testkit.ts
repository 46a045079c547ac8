import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadContract } from '#lib/contract';
import { type EvaluationState, reportSchema } from '#lib/evaluation';
import { planOfRequest } from '#lib/requests';
import { openEmbedded } from '../../apps/truss/src/embedded.js';

export interface Plan {
  readonly repeats: number;
  readonly replicates: number;
  readonly seed: number;
}

/** What must be equal with and without a fault, embedded and on Kafka: no ids, refs, hashes and times. */
export interface Measured {
  readonly verdict: string;
  readonly arms: readonly unknown[];
  readonly delta: unknown;
  readonly curve: readonly unknown[];
  readonly evidence: unknown;
  readonly runs: readonly unknown[];
}
export interface Outcome {
  readonly measured: Measured;
  /** Calls whose cost nobody knows: those that were in flight when a process died. */
  readonly unmeasured: number;
}

/** @param state of an evaluation that has its report */
export function outcomeOf(state: EvaluationState): Outcome {
  const report = reportSchema.parse(state.report?.body);
  const runs = [...state.children.values()].map((child) => ({
    place: `${child.arm} ${child.replicate}/${child.repeat}`,
    verdict: child.sealed?.verdict,
    rendered: child.rendered,
    promoted: child.promoted.map(({ lesson }) => [lesson.title, lesson.when, lesson.text]),
  }));
  const arms = report.arms.map(({ arm, counts, pass_rate, usage, children }) => ({
    ...{ arm, counts, pass_rate, usage },
    children: children.map((child) => [child.replicate, child.repeat, child.verdict, child.usage]),
  }));
  const { verdict, delta, curve, evidence } = report;
  const measured = {
    ...{ verdict, delta, arms, curve, evidence },
    runs: runs.toSorted((a, b) => (a.place < b.place ? -1 : 1)),
  };
  return { measured: withoutUnmeasured(measured), unmeasured: report.spend.unmeasured_calls };
}

function withoutUnmeasured<T>(value: T): T {
  const text = JSON.stringify(value, (key, inner: unknown) => (key === 'unmeasured_calls' ? undefined : inner));
  return JSON.parse(text.replaceAll(/ev_[0-9a-f]{32}|[0-9a-f]{64}/g, '')) as T;
}

/** The outcome of the same contract, plan and seed in one process without Kafka and without faults. */
export async function undisturbed(contract: string, plan: Plan): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'truss-undisturbed-'));
  const loaded = await loadContract(contract);
  const files = { directory: loaded.directory, workspace: loaded.workspaceDir };
  let broken: unknown = null;
  const embedded = await openEmbedded({
    db: join(folder, 'truss.db'),
    models: { env: { MODEL_KEY: 'key-of-embedded' } },
    fatal: (error) => (broken = error),
  });
  try {
    embedded.locate(loaded.digest, files);
    const id = await embedded.submit({
      kind: 'eval',
      requester: 'tester',
      request_id: 'undisturbed',
      ...planOfRequest(loaded, plan),
      seed: plan.seed,
      concurrency: plan.replicates,
      starting_lessons: [],
      files: [files],
    });
    await embedded.start();
    const { view } = await embedded.follow(id);
    while (view.state.report === null) {
      if (broken !== null) throw new Error('the undisturbed evaluation broke', { cause: broken });
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return outcomeOf(view.state);
  } finally {
    await embedded.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
