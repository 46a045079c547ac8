import { readFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { createContext, Script } from 'node:vm';
import { type Criterion, type Match, matchText, type MatchCriterion } from '#lib/contract';
import type { ChildState } from '#lib/evaluation';
import { type Draft, NO_SPEND, type Verdict } from '#lib/ledger';
import { toBlob } from './blob.js';
import { changedContent, pristineWorkspace, rebuildWorkspace } from './workspace.js';
import { recordedAt } from './changes.js';
import { environmentOf } from './environment.js';
import { faultOf } from './faults.js';
import { runProgram } from './process.js';
import { commandOf, shownOutput } from './programs.js';
import type { Work } from './work.js';

const MAX_MATCH_BYTES = 1024 * 1024;
const MATCH_MS = 1_000;

interface Checked {
  readonly result: Verdict;
  readonly reason: string;
  readonly output?: string;
}

/** Checks a `command` or `match` criterion on what the agent left. What broke on the way is `unverifiable`, never a fail. */
export async function checkCriterion(work: Work, id: string, state: ChildState, abort: AbortSignal): Promise<Draft[]> {
  const criterion = work.run.rendered.criteria.find((one) => one.id === id);
  if (criterion === undefined || criterion.kind === 'review') throw new Error(`criterion ${id} is none to check`);
  let checked: Checked;
  try {
    checked =
      criterion.kind === 'match'
        ? await checkMatch(work, criterion, state)
        : await checkCommand(work, criterion, state, abort);
  } catch (cause) {
    checked = { result: 'unverifiable', reason: faultOf(cause, 'workspace').message };
  }
  if (abort.aborted) return [];
  const output = await toBlob(checked.output ?? '', work);
  return [
    {
      type: 'criterion_checked',
      body: { criterion: id, result: checked.result, reason: checked.reason, output, usage: NO_SPEND },
    },
  ];
}

async function checkCommand(
  work: Work,
  criterion: Extract<Criterion, { kind: 'command' }>,
  state: ChildState,
  abort: AbortSignal,
): Promise<Checked> {
  const argv = await commandOf(work, criterion.run);
  const place = await work.scratch.place();
  try {
    await rebuildWorkspace(work, state.workspace?.body ?? null, place.workspace);
    const end = await runProgram({
      argv,
      cwd: place.workspace,
      env: environmentOf(place),
      timeoutMs: criterion.timeout_ms,
      stop: abort,
    });
    if (end.kind === 'not_started')
      return { result: 'unverifiable', reason: `the command could not be started (${end.code})` };
    const output = shownOutput(work, place, end);
    if (end.stopped !== 'no')
      return { result: 'unverifiable', reason: `it did not end within ${criterion.timeout_ms} ms`, output };
    if (end.exitCode === 0) return { result: 'pass', reason: 'exit code 0', output };
    if (end.exitCode === 1) return { result: 'fail', reason: 'exit code 1', output };
    return {
      result: 'unverifiable',
      reason: end.signal === null ? `exit code ${end.exitCode}` : `ended by ${end.signal}`,
      output,
    };
  } finally {
    await work.scratch.clear(place);
  }
}

async function checkMatch(work: Work, criterion: MatchCriterion, state: ChildState): Promise<Checked> {
  const file = await answerFile(work, criterion.file, state);
  if (file.kind === 'none') return { result: 'fail', reason: file.reason };
  const match = 'equals' in criterion ? matchText(criterion, file.text) : matchInTime(criterion, file.text);
  if (match === 'late') return { result: 'unverifiable', reason: `matching took longer than ${MATCH_MS} ms` };
  return match.matched ? { result: 'pass', reason: 'it matches' } : { result: 'fail', reason: match.reason };
}

export type AnswerFile =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'none'; readonly reason: string };

/** A file as the criteria see it: at most 1 MiB of UTF-8 in a regular file; a link is none. */
export async function answerFile(work: Work, path: string, state: ChildState): Promise<AnswerFile> {
  const name = posix.normalize(path);
  const bytes = await bytesOf(work, name, state);
  if (typeof bytes === 'string') return { kind: 'none', reason: bytes };
  if (bytes.length > MAX_MATCH_BYTES)
    return { kind: 'none', reason: `the file has more than ${MAX_MATCH_BYTES} bytes` };
  try {
    return { kind: 'text', text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { kind: 'none', reason: 'the file is not UTF-8 text' };
  }
}

const MISSING = 'there is no such file';
const IRREGULAR = 'it is no regular file';

async function bytesOf(work: Work, name: string, state: ChildState): Promise<Buffer | string> {
  const changed = state.workspace?.body;
  const entry = changed?.files.find((file) => file.path === name);
  if (changed !== undefined && entry !== undefined) {
    if (entry.sha256 === null) return entry.change === 'deleted' ? MISSING : IRREGULAR;
    const recorded = recordedAt(await changedContent(work, changed), name);
    if (recorded === null) return MISSING;
    return recorded.kind === 'file' ? recorded.bytes : IRREGULAR;
  }
  const pristine = await pristineWorkspace(work);
  const file = pristine?.files.find(({ path }) => path === name);
  if (pristine === null || file === undefined) return MISSING;
  return file.mode === '120000' ? IRREGULAR : readFile(join(pristine.folder, name));
}

const sandbox: { match: () => Match } = createContext({ match: () => ({ matched: false, reason: '' }) }) as {
  match: () => Match;
};
const runMatch = new Script('match()');

// A pattern can take for ever. The engine lets a timed script be interrupted, in a pattern too, and nothing else.
function matchInTime(criterion: MatchCriterion, text: string): Match | 'late' {
  sandbox.match = () => matchText(criterion, text);
  try {
    return runMatch.runInContext(sandbox, { timeout: MATCH_MS }) as Match;
  } catch (cause) {
    // An error of the sandbox's own realm.
    if (Object(cause) === cause && (cause as { code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return 'late';
    throw cause;
  }
}
