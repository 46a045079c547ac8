import type { ChildState } from '#lib/evaluation';
import type { Draft, Lesson } from '#lib/ledger';
import {
  exemplarLesson,
  labelledBy,
  lessonDigest,
  lessonsFromAgent,
  lessonsFromModel,
  type Provenance,
} from '#lib/lessons';
import { readBlob } from './blob.js';
import { answerOf, saidIn } from './calls.js';
import { answerFile } from './criteria.js';
import { lastCall } from './decide-calls.js';
import { lessonsIn } from './lessons-request.js';
import { usedLessons } from './recall.js';
import type { Work } from './work.js';

/** The lessons of a judged run that its ledger does not hold yet: the same however often it is asked. */
export async function extractLessons(work: Work, state: ChildState): Promise<Draft[]> {
  const known = new Set(state.lessons.map(({ lesson }) => lessonDigest(lesson)));
  const drafts: Draft[] = [];
  for (const lesson of await lessonsOf(work, state)) {
    const digest = lessonDigest(lesson);
    if (known.has(digest)) continue;
    known.add(digest);
    drafts.push({ type: 'lesson_extracted', body: { lesson, digest } });
  }
  return drafts;
}

async function lessonsOf(work: Work, state: ChildState): Promise<Lesson[]> {
  const { contract, rendered } = work.run;
  const provenance = provenanceOf(work, state);
  if (provenance === null || contract.learning === null || state.verdict === null) return [];
  switch (contract.learning.extractor) {
    case 'agent':
      return lessonsFromAgent(state.events, provenance);
    case 'exemplar': {
      // A run that the gate refuses for certain is no example.
      if (state.verdict.verdict !== 'pass' && contract.learning.gates.includes('verdict')) return [];
      const row = contract.cases.find(({ id }) => id === work.run.case?.id);
      const lesson = exemplarLesson(
        {
          instructions: rendered.instructions,
          inputs: row?.inputs ?? {},
          answer: await answerText(work, state),
          criteria: [...state.criteria].map(([id, { result }]) => ({ id, result })),
        },
        provenance,
      );
      return lesson === null ? [] : [lesson];
    }
    case 'llm': {
      const call = lastCall(state, { purpose: 'extraction', subject: state.verdict.ref, reviewer: null });
      const answer = call === undefined ? null : answerOf(call);
      if (call === undefined || answer === null) return [];
      const model = answer.model ?? call.started.model;
      const written = { ...provenance, model, promptDigest: call.started.prompt_digest };
      return lessonsFromModel(lessonsIn((await saidIn(work, answer)).text), written);
    }
    default:
      return contract.learning.extractor satisfies never;
  }
}

function provenanceOf(work: Work, state: ChildState): Provenance | null {
  const { run } = work;
  if (state.verdict === null || run.contract.learning === null) return null;
  const judged = run.rendered.criteria.filter(({ id }) => {
    const result = state.criteria.get(id)?.result;
    return result === 'pass' || result === 'fail';
  });
  const checks = [...state.criteria.values()].map(({ ref }) => ref);
  return {
    evidence: [state.verdict.ref, ...checks, ...(state.answer === null ? [] : [state.answer.ref])],
    criteria: judged.map(({ id }) => id),
    labelledBy: labelledBy(judged.map(({ kind }) => kind)),
    recalled: usedLessons(work, state.recalled?.body ?? null).map(({ lesson }) => lesson.trust),
    contract: run.contract.id,
    case: run.case?.id ?? null,
    family: run.case?.family ?? null,
    scope: run.contract.learning.scope,
    model: null,
    promptDigest: null,
  };
}

/** The file that a match criterion judged, else what the agent printed. */
async function answerText(work: Work, state: ChildState): Promise<string> {
  for (const criterion of work.run.rendered.criteria) {
    if (criterion.kind !== 'match') continue;
    const file = await answerFile(work, criterion.file, state);
    if (file.kind === 'text') return file.text;
  }
  return state.answer === null ? '' : ((await readBlob(state.answer.body.output, work.ports)) ?? '');
}
