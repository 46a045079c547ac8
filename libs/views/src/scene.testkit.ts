import { buildReport, decide } from '#lib/evaluation';
import { type ChildRunId, emptyChains, type Entry, fold, type Joining, type Usage, type Verdict } from '#lib/ledger';
import { contractWith, LEARNING } from '../../contract/src/smallest.testkit.js';
import { LESSON, requestFor, Scene } from '../../evaluation/src/scene.testkit.js';
import { EvaluationFold } from './fold.js';

interface Outcome {
  readonly verdict: Verdict;
  readonly usage?: Usage;
}

/** An evaluation of two repeats in which every run with memory promotes a lesson. */
export function learningScene(): Scene {
  return new Scene(requestFor(contractWith({ learning: LEARNING }))).started();
}

/** Takes the owner's next decision and runs every run that it asks for. False when the evaluation is closed. */
export function turn(scene: Scene, of: (child: ChildRunId) => Outcome, cancelled: string | null = null): boolean {
  const drafts = decide(scene.view, { now: scene.now, cancelled, starting: [], runToken: () => 'run' });
  scene.addAll(scene.evaluation, drafts);
  if (scene.view.state.closed !== null) return false;
  for (const id of scene.view.state.open) {
    const record = scene.view.state.children.get(id);
    if (record === undefined || record.sealed !== null) continue;
    const { verdict, usage } = of(id);
    const lessons = record.arm === 'on' ? [LESSON] : [];
    scene.run(id, verdict, { ...(usage === undefined ? {} : { usage }), lessons });
  }
  return true;
}

export function complete(scene: Scene, of: (child: ChildRunId) => Outcome = () => ({ verdict: 'pass' })): Scene {
  while (turn(scene, of));
  scene.add(scene.evaluation, { type: 'eval_report', body: buildReport(scene.view.state) });
  return scene;
}

/** What a follower of the log is told: entries with positions 10 apart, from the first on. */
export function told(entries: readonly Entry[]): ((fold: EvaluationFold) => Joining)[] {
  const [first] = entries;
  if (first === undefined) return [];
  // Each step folds the chains up to itself, so that any number of folds may hear it.
  return entries.map((entry, at) => (views) => {
    const live = emptyChains(first.eval);
    for (const earlier of entries.slice(0, at)) fold(live, earlier);
    const joining = fold(live, entry);
    views.entry(entry, joining, live, 10 * (at + 1));
    return joining;
  });
}

export function foldOf(entries: readonly Entry[]): EvaluationFold {
  const [first] = entries;
  if (first === undefined) throw new Error('there is nothing to fold');
  const views = new EvaluationFold(first.eval);
  for (const tell of told(entries)) tell(views);
  return views;
}
