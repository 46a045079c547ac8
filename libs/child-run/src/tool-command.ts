import type { ChildState } from '#lib/evaluation';
import { timeLeft } from './budget.js';
import { changesIn } from './changes.js';
import { environmentOf } from './environment.js';
import { RunFault } from './faults.js';
import { runProgram } from './process.js';
import { shownOutput } from './programs.js';
import { killStragglers } from './stragglers.js';
import { capped, refuse, type ToolResult } from './tool-files.js';
import type { ToolArguments } from './tool-shapes.js';
import { pristineWorkspace, rebuildWorkspace } from './workspace.js';
import type { Work } from './work.js';

/**
 * Runs a shell command in a folder that is made from the ledger for it, so that it sees the same files wherever the run is taken up. It ends, with all
 * that it started, when its time or the run's is over. What it did to the workspace is kept; a change too large to record is undone.
 * @throws RunFault where the workspace cannot be made or read
 */
export async function runCommand(
  work: Work,
  { command }: ToolArguments<'run_command'>,
  state: ChildState,
  abort: AbortSignal,
): Promise<ToolResult> {
  const place = await work.scratch.place();
  try {
    await rebuildWorkspace(work, state.workspace?.body ?? null, place.workspace);
    const left = timeLeft(work.run.contract.budget, state, work.ports.now()) ?? Number.POSITIVE_INFINITY;
    const timeoutMs = Math.max(1, Math.min(left, work.limits.toolMs));
    const argv = ['sh', '-c', command];
    const end = await runProgram({ argv, cwd: place.workspace, env: environmentOf(place), timeoutMs, stop: abort });
    if (end.kind === 'not_started') return refuse(`the command could not be started (${end.code})`);
    await killStragglers(place.base);
    const pristine = (await pristineWorkspace(work))?.files ?? [];
    const changes = await changesIn(work.run.contract, place.workspace, pristine, work.limits.changes, work.redact);
    const output = capped(shownOutput(work, place, end));
    if (end.stopped !== 'no')
      return { ok: false, text: `error: stopped after ${Math.round(timeoutMs)} ms\n${output}`, changes };
    const how = end.signal === null ? `exit code ${end.exitCode}` : `ended by ${end.signal}`;
    return { ok: true, text: `${how}\n${output}`, changes };
  } catch (cause) {
    if (cause instanceof RunFault && cause.code === 'workspace_flooded')
      return refuse('it changed more of the workspace than can be recorded: all of it is undone');
    throw cause;
  } finally {
    await work.scratch.clear(place);
  }
}
