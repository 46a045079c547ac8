import type { ChildState } from '#lib/evaluation';
import type { LedgerRef } from '#lib/ledger';
import { readBlob } from './blob.js';
import { recordedAt } from './changes.js';
import { ABOUT_LESSON } from './decide-calls.js';
import { changedContent } from './workspace.js';
import type { Work } from './work.js';

const FILE_BYTES = 32 * 1024;
const ALL_BYTES = 256 * 1024;

/** What a reviewer is asked, and all that it is shown: neither arm, nor author, nor what the agent had recalled. */
export interface Question {
  readonly question: string;
  readonly evidence: Readonly<Record<string, unknown>>;
}

/** A `review` criterion: the task, the files that changed (text, up to 32 KiB each and 256 KiB in all) and the agent's output. */
export async function questionAboutAnswer(work: Work, question: string, state: ChildState): Promise<Question> {
  const output = state.answer === null ? null : await readBlob(state.answer.body.output, work.ports);
  return {
    question,
    evidence: { instructions: work.run.rendered.instructions, files: await changedFiles(work, state), output },
  };
}

export function questionAboutLesson(work: Work, ref: LedgerRef, state: ChildState): Question {
  const found = state.lessons.find((lesson) => lesson.ref === ref);
  if (found === undefined) throw new Error(`lesson ${ref} is not of this run`);
  const { title, when, when_not, text } = found.lesson;
  return {
    question: ABOUT_LESSON,
    evidence: {
      lesson: { title, when, when_not, text },
      instructions: work.run.rendered.instructions,
      verdict: state.verdict?.verdict ?? null,
      criteria: [...state.criteria].map(([id, { result }]) => ({ id, result })),
    },
  };
}

async function changedFiles(work: Work, state: ChildState): Promise<unknown[]> {
  const changed = state.workspace?.body;
  if (changed === undefined) return [];
  const content = await changedContent(work, changed);
  let room = ALL_BYTES;
  return changed.files.map(({ path, change, size }) => {
    const recorded = recordedAt(content, path);
    const text = recorded?.kind === 'file' && size <= Math.min(FILE_BYTES, room) ? textOf(recorded.bytes) : null;
    if (text !== null) room -= size;
    return { path, change, size, text };
  });
}

function textOf(bytes: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
