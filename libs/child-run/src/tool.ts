import type { ChildState } from '#lib/evaluation';
import type { Draft } from '#lib/ledger';
import type { ToolCall } from '#lib/providers';
import { toBlob } from './blob.js';
import { outOfTime } from './budget.js';
import { answerOf, saidIn } from './calls.js';
import { faultOf } from './faults.js';
import { runCommand } from './tool-command.js';
import { listFiles, readTextFile, refuse, type ToolResult, writeTextFile } from './tool-files.js';
import { isTool, TOOLS } from './tool-shapes.js';
import { changesDraft } from './view.js';
import type { Work } from './work.js';

/**
 * Does one tool call of an answer. What a model asks for wrongly is answered by an error that it can read, and is no fault of the run. Its changes
 * stand before the call itself: a call cut short between the two is done again on the workspace as it was.
 */
export async function useTool(
  work: Work,
  { call: number, index }: { readonly call: number; readonly index: number },
  state: ChildState,
  abort: AbortSignal,
): Promise<Draft[]> {
  const over = outOfTime(work.run.contract.budget, state, work.ports.now());
  if (over !== null) return [{ type: 'budget_exhausted', body: over }];
  try {
    const call = state.calls.find(({ started }) => started.call === number);
    const answer = call === undefined ? null : answerOf(call);
    const asked = answer === null ? undefined : (await saidIn(work, answer)).tool_calls[index];
    if (asked === undefined) throw new Error(`call ${number} has no tool call ${index}`);
    const result = await dispatch(work, asked, state, abort);
    if (abort.aborted) return [];
    const changes = result.changes === undefined ? [] : await changesDraft(work, state, result.changes);
    const written = 'malformed' in asked ? asked.malformed : JSON.stringify(asked.arguments);
    const body = {
      call: number,
      index,
      tool: asked.name,
      arguments: await toBlob(written, work),
      ok: result.ok,
      result: await toBlob(result.text, work),
    };
    return [...changes, { type: 'tool_called', body }];
  } catch (cause) {
    return abort.aborted ? [] : [faultOf(cause, 'workspace').draft()];
  }
}

async function dispatch(work: Work, asked: ToolCall, state: ChildState, abort: AbortSignal): Promise<ToolResult> {
  const { agent } = work.run.rendered;
  const { name } = asked;
  const offered = agent.kind === 'llm' ? agent.tools : [];
  if (!isTool(name) || !offered.includes(name)) return refuse(`there is no such tool; there are ${offered.join(', ')}`);
  if ('malformed' in asked) return refuse('the arguments are no JSON object');
  const given = asked.arguments;
  switch (name) {
    case 'list_files':
      return checked(TOOLS[name].arguments.safeParse(given), (args) => listFiles(work, args, state));
    case 'read_file':
      return checked(TOOLS[name].arguments.safeParse(given), (args) => readTextFile(work, args, state));
    case 'write_file':
      return checked(TOOLS[name].arguments.safeParse(given), (args) => writeTextFile(work, args, state));
    case 'run_command':
      return checked(TOOLS[name].arguments.safeParse(given), (args) => runCommand(work, args, state, abort));
    default:
      return name satisfies never;
  }
}

type Parsed<T> = { success: true; data: T } | { success: false; error: { issues: readonly Issue[] } };
type Issue = { readonly path: readonly PropertyKey[]; readonly message: string };

async function checked<T>(parsed: Parsed<T>, then: (args: T) => Promise<ToolResult>): Promise<ToolResult> {
  if (parsed.success) return then(parsed.data);
  const [issue] = parsed.error.issues;
  return refuse(`bad arguments: ${issue?.path.map(String).join('.') ?? ''} ${issue?.message ?? ''}`.trim());
}
