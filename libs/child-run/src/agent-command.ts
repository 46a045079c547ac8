import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type ChildState, reportedUsage } from '#lib/evaluation';
import { type AgentEvent, type Draft, NO_SPEND } from '#lib/ledger';
import { agentContext } from './agent-context.js';
import { toBlob } from './blob.js';
import { budgetLeft } from './budget.js';
import { changedDraft } from './agent-fixed.js';
import { changesIn } from './changes.js';
import { environmentOf } from './environment.js';
import { EventTail } from './event-tail.js';
import { faultOf, RunFault } from './faults.js';
import { BudgetMeter, type Exhausted } from './meter.js';
import { type ProgramEnd, runProgram } from './process.js';
import { commandOf, shownOutput } from './programs.js';
import type { Place } from './scratch.js';
import { killStragglers } from './stragglers.js';
import { copyWorkspace } from './workspace.js';
import type { Work } from './work.js';

const POLL_MS = 25;

interface Watched {
  readonly end: ProgramEnd;
  readonly exhausted: Exhausted | null;
  readonly events: readonly AgentEvent[];
}

/**
 * Runs a `command` agent in a fresh workspace. What it reports goes to `progress` as it comes; what it leaves is its answer,
 * whatever its exit code: the criteria decide. An agent that goes beyond a limit of its budget, or floods its event file, is
 * stopped, and what it left until then is judged all the same. The budget is the run's: attempts that a crash cut short have spent of it.
 * @throws RunFault where it could not be run, or its workspace could not be recorded
 */
export async function runCommandAgent(
  work: Work,
  command: readonly string[],
  state: ChildState,
  progress: (drafts: Draft[]) => void,
  abort: AbortSignal,
): Promise<Draft[]> {
  const before = [...state.events];
  const meter = new BudgetMeter(work.run.contract.budget, state);
  const over = meter.exhausted();
  if (over !== null) return nothingLeft(over, before);
  const { timeout_ms: timeoutMs } = budgetLeft(work.run.contract.budget, state);
  const argv = await commandOf(work, command);
  const context = await agentContext(work, state);
  const place = await work.scratch.place();
  let ran = false;
  try {
    const pristine = await copyWorkspace(work, place.workspace);
    ran = true;
    const { end, exhausted, events } = await watch(work, place, argv, context, { meter, timeoutMs }, progress, abort);
    if (abort.aborted) return [];
    if (end.kind === 'not_started') {
      ran = false;
      throw notStarted(command, end.code);
    }
    await killStragglers(place.base);
    const changed = await changedDraft(
      work,
      await changesIn(work.run.contract, place.workspace, pristine, work.limits.changes, work.redact),
    );
    const answer: Draft = {
      type: 'answer_submitted',
      body: {
        ended: end.stopped !== 'no' ? 'stopped' : end.signal === null ? 'exited' : 'signalled',
        exit_code: end.exitCode,
        signal: end.signal,
        output: await toBlob(shownOutput(work, place, end), work),
        usage: reportedUsage([...before, ...events]),
      },
    };
    return [
      ...(exhausted === null ? [] : [{ type: 'budget_exhausted', body: exhausted } as const]),
      ...changed,
      answer,
    ];
  } catch (cause) {
    const fault = faultOf(cause, 'workspace');
    throw ran ? new RunFault('answer', fault.code, fault.message, { cause: fault }) : fault;
  } finally {
    await work.scratch.clear(place);
  }
}

/** Runs the program and its meter side by side, to the end of both. */
async function watch(
  work: Work,
  place: Place,
  argv: string[],
  context: string,
  { meter, timeoutMs }: { readonly meter: BudgetMeter; readonly timeoutMs: number | null },
  progress: (drafts: Draft[]) => void,
  abort: AbortSignal,
): Promise<Watched> {
  const contextFile = join(place.base, 'context.json');
  const eventFile = join(place.base, 'events.jsonl');
  await writeFile(contextFile, context, { mode: 0o600 });
  const tail = await EventTail.create(eventFile, work.limits.events);
  const stop = new AbortController();
  const onAbort = (): void => stop.abort();
  abort.addEventListener('abort', onAbort, { once: true });
  if (abort.aborted) stop.abort();
  const events: AgentEvent[] = [];
  let exhausted: Exhausted | null = null;
  let flooded = false;
  const poll = async (last: boolean): Promise<void> => {
    const fresh = await tail.read(last);
    if (tail.flooded && !flooded) {
      flooded = true;
      fresh.push({ type: 'note', text: 'truss: the agent reported more events than are recorded, and was stopped' });
    }
    for (const event of fresh) exhausted ??= meter.charge(event);
    events.push(...fresh);
    if (fresh.length > 0 && !abort.aborted) progress([{ type: 'agent_reported', body: { events: fresh } }]);
    if (exhausted !== null || flooded) stop.abort();
  };
  try {
    const env = environmentOf(place, { TRUSS_CONTEXT: contextFile, TRUSS_EVENTS: eventFile });
    let running = true;
    const ended = runProgram({ argv, cwd: place.workspace, env, timeoutMs, stop: stop.signal }).finally(() => {
      running = false;
    });
    while (running) {
      await Promise.race([ended, wait(POLL_MS)]);
      if (running) await poll(false);
    }
    const end = await ended;
    await poll(true);
    if (end.kind === 'ended' && end.stopped === 'timeout') exhausted ??= meter.overTime(end.elapsedMs);
    return { end, exhausted, events };
  } finally {
    stop.abort();
    abort.removeEventListener('abort', onAbort);
    await tail.close();
  }
}

/** The program is not started again, and the workspace as it is without it is judged. */
function nothingLeft(over: Exhausted, before: readonly AgentEvent[]): Draft[] {
  const events: AgentEvent[] = [
    {
      type: 'note',
      text: 'truss: attempts that were cut short left nothing of the budget, so the agent was not started again',
    },
    { type: 'usage', usage: NO_SPEND },
  ];
  return [
    { type: 'agent_reported', body: { events } },
    { type: 'budget_exhausted', body: over },
    {
      type: 'answer_submitted',
      body: {
        ended: 'stopped',
        exit_code: null,
        signal: null,
        output: { text: '' },
        usage: reportedUsage([...before, ...events]),
      },
    },
  ];
}

function notStarted(command: readonly string[], code: string): RunFault {
  const name = JSON.stringify(command[0] ?? '');
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: `there is no program ${name} here: install it, or correct the agent's command`,
    EACCES: `the program ${name} may not be executed: make it executable, or correct the agent's command`,
  };
  const reason =
    reasons[code] ?? `the program ${name} could not be started (${code}): see to this machine, then run it again`;
  return new RunFault('agent', 'agent_not_started', reason);
}
