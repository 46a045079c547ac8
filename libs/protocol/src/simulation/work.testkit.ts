import type { Action, RunContext } from '#lib/child-run';
import { type ChildState, type EvaluationView, reportedUsage } from '#lib/evaluation';
import { type AgentEvent, type Draft, type Lesson, type LedgerRef, NO_SPEND, type Usage } from '#lib/ledger';
import { CHECKS, type HeldLesson, labelledBy, lessonDigest, lowestTrust, renderLayer } from '#lib/lessons';
import { fate } from './random.testkit.js';

/** What an action brings: entries on the way, entries at its end. */
export interface Work {
  readonly progress: readonly Draft[];
  readonly result: readonly Draft[];
}

/** The work of an action. What it brings follows from the request, the lessons' texts and the ledger: no ref, no time, no chance. */
export function simulateWork(action: Action, view: EvaluationView, run: RunContext): Work {
  const child = view.state.children.get(run.child)?.run;
  if (child == null) throw new Error(`run ${run.child} has no state`);
  const { seed } = run.request.body;
  const nothing: Draft[] = [];
  const brings = (...result: Draft[]): Work => ({ progress: nothing, result });
  switch (action.kind) {
    case 'prepare_call':
    case 'call':
    case 'tool':
    case 'submit':
      throw new Error('no agent and no reviewer here is a model');
    case 'recall':
      return brings(recalled(view, run));
    case 'agent':
      return agentWork(child, run, usedTitles(view, child));
    case 'check': {
      const lucky = fate(seed, action.criterion, usedTitles(view, child).length) % 10;
      const result = lucky < 6 ? 'pass' : lucky < 9 ? 'fail' : 'unverifiable';
      return brings({
        type: 'criterion_checked',
        body: { criterion: action.criterion, result, reason: 'drawn', output: { text: '' }, usage: NO_SPEND },
      });
    }
    case 'review':
      return brings({
        type: 'review_returned',
        body: {
          criterion: action.criterion,
          reviewer: action.reviewer,
          ...vote(seed, action.criterion, action.reviewer),
        },
      });
    case 'extract':
      return brings(...extracted(child, run, view));
    case 'check_lesson': {
      const lesson = child.lessons.find(({ ref }) => ref === action.lesson);
      const missing = CHECKS.filter((name) => lesson?.checks.every(({ check }) => check !== name));
      return brings(
        ...missing.map(
          (check): Draft => ({
            type: 'lesson_checked',
            body: { lesson: action.lesson, gate: 'checks', check, passed: true, reason: '' },
          }),
        ),
      );
    }
    case 'review_lesson': {
      const title = child.lessons.find(({ ref }) => ref === action.lesson)?.lesson.title ?? '';
      return brings({
        type: 'lesson_reviewed',
        body: { lesson: action.lesson, reviewer: action.reviewer, ...vote(title, '', action.reviewer) },
      });
    }
    default:
      throw new Error(`no simulated agent has a model, so none does ${actionName(action)}`);
  }
}

/** A name for an action within its run: what is done twice under one name was paid twice. */
export function actionName(action: Action): string {
  return Object.values(action).join(' ');
}

/** Whether the ledger holds all that the action brings. An extraction is done when the session has looked, so it never counts. */
export function isDone(action: Action, child: ChildState): boolean {
  switch (action.kind) {
    case 'prepare_call':
    case 'call':
    case 'tool':
    case 'submit':
      return false;
    case 'recall':
      return child.recalled !== null;
    case 'agent':
      return child.answer !== null;
    case 'check':
      return child.criteria.has(action.criterion);
    case 'review':
      return child.reviews.some(
        ({ criterion, reviewer }) => criterion === action.criterion && reviewer === action.reviewer,
      );
    case 'extract':
      return child.sealed !== null;
    case 'check_lesson':
      return child.lessons.some(
        ({ ref, checks }) =>
          ref === action.lesson && CHECKS.every((name) => checks.some(({ check }) => check === name)),
      );
    case 'review_lesson':
      return child.lessons.some(
        ({ ref, votes }) => ref === action.lesson && votes.some(({ reviewer }) => reviewer === action.reviewer),
      );
    default:
      return false;
  }
}

function vote(...words: (string | number)[]): { vote: 'approve' | 'reject' | 'abstain'; reason: string; usage: Usage } {
  const drawn = fate(...words) % 10;
  const value = drawn < 6 ? 'approve' : drawn < 8 ? 'reject' : 'abstain';
  return {
    vote: value,
    reason: 'drawn',
    usage: { ...NO_SPEND, cost_nano_usd: 10 + drawn, input_tokens: 3, output_tokens: 1 },
  };
}

function held(view: EvaluationView, ref: LedgerRef): HeldLesson | undefined {
  for (const child of view.state.children.values()) {
    const found = child.promoted.find((lesson) => lesson.ref === ref);
    if (found !== undefined) return found;
  }
  return undefined;
}

function recalled(view: EvaluationView, run: RunContext): Draft {
  const offered = run.request.body.lessons.map((ref) => ({ ref, lesson: held(view, ref)?.lesson }));
  const isRefused = ({ lesson }: { lesson: Lesson | undefined }) =>
    lesson === undefined || fate(lesson.title) % 7 === 0;
  const used = offered.flatMap((lesson) =>
    isRefused(lesson) || lesson.lesson === undefined ? [] : [{ ref: lesson.ref, lesson: lesson.lesson }],
  );
  const layer = renderLayer(used);
  return {
    type: 'lessons_recalled',
    body: {
      used: used.map(({ ref }, i) => ({ lesson: ref, tokens: layer.tokens[i] ?? 0 })),
      refused: offered.filter(isRefused).map(({ ref }) => ({ lesson: ref, code: 'drawn', reason: 'drawn' })),
      layer: { text: layer.text },
      layer_digest: layer.digest as Extract<Draft, { type: 'lessons_recalled' }>['body']['layer_digest'],
    },
  };
}

function usedTitles(view: EvaluationView, child: ChildState): string[] {
  return (child.recalled?.body.used ?? []).map(({ lesson }) => held(view, lesson)?.lesson.title ?? '');
}

function agentWork(child: ChildState, run: RunContext, lessons: readonly string[]): Work {
  const { seed } = run.request.body;
  if (run.rendered.agent.kind === 'fixed')
    return { progress: [], result: [...lessonEvents(run, seed), answer('constant', NO_SPEND)] };
  const spent = fate(seed, 'agent', ...lessons);
  const usage: AgentEvent = {
    type: 'usage',
    usage: {
      cost_nano_usd: spent % 1000,
      steps: 0,
      input_tokens: (spent >>> 8) % 100,
      output_tokens: (spent >>> 16) % 10,
      unmeasured_calls: 0,
    },
  };
  const onTheWay: AgentEvent[] = [{ type: 'step', name: 'think' }, usage];
  const lessonsLast = lessonEvents(run, seed);
  const before = child.events;
  const events = [
    ...before,
    ...onTheWay,
    ...lessonsLast.flatMap((draft) => (draft.type === 'agent_reported' ? draft.body.events : [])),
  ];
  return {
    progress: [{ type: 'agent_reported', body: { events: onTheWay } }],
    result: [...lessonsLast, answer('exited', reportedUsage(events))],
  };
}

function answer(ended: 'constant' | 'exited', usage: Usage): Draft {
  return { type: 'answer_submitted', body: { ended, exit_code: 0, signal: null, output: { text: 'a' }, usage } };
}

function lessonEvents(run: RunContext, seed: number): Draft[] {
  const count = [1, 2, 3, 0][fate(seed, 'lessons') % 4] ?? 0;
  if (count === 0) return [];
  const events = Array.from({ length: count }, (_, i): AgentEvent => {
    const title = `lesson ${run.request.body.case ?? ''} ${seed} ${i}`;
    return { type: 'lesson', title, when: '', when_not: '', text: title };
  });
  return [{ type: 'agent_reported', body: { events } }];
}

function extracted(child: ChildState, run: RunContext, view: EvaluationView): Draft[] {
  const { verdict } = child;
  if (verdict === null) throw new Error('lessons are extracted after the verdict');
  const decided = run.rendered.criteria.filter(({ id }) => child.criteria.get(id)?.result !== 'unverifiable');
  const label = labelledBy(decided.map(({ kind }) => kind));
  const used = (child.recalled?.body.used ?? []).flatMap(({ lesson: ref }) => held(view, ref)?.lesson.trust ?? []);
  const drafts: Draft[] = [];
  for (const event of child.events) {
    if (event.type !== 'lesson' || child.lessons.some(({ lesson }) => lesson.title === event.title)) continue;
    const lesson: Lesson = {
      title: event.title,
      when: '',
      when_not: '',
      text: event.text,
      extractor: 'agent',
      evidence: [verdict.ref],
      criteria: [],
      labelled_by: label,
      model: null,
      prompt_digest: null,
      contract: run.contract.id,
      case: run.request.body.case,
      family: null,
      scope: 'simulated',
      tokens: event.text.length,
      trust: lowestTrust(label, ...used),
      supersedes: [],
    };
    const digest = lessonDigest(lesson);
    drafts.push({ type: 'lesson_extracted', body: { lesson, digest } });
  }
  return drafts;
}
