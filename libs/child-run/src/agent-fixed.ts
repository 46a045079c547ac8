import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Agent } from '#lib/contract';
import { type Draft, NO_SPEND } from '#lib/ledger';
import { toBlob } from './blob.js';
import { type Changes, changesIn, contentText, oneFile } from './changes.js';
import { faultOf } from './faults.js';
import { copyWorkspace } from './workspace.js';
import type { Work } from './work.js';

/** The control: a constant answer, written to its file. Without a workspace to write into it needs no disk. */
export async function runFixedAgent(work: Work, agent: Extract<Agent, { kind: 'fixed' }>): Promise<Draft[]> {
  const { contract } = work.run;
  const changes =
    contract.workspace.digest === null ? oneFile(contract, agent.file, agent.answer) : await writeAnswer(work, agent);
  const output = await toBlob(agent.answer, work);
  return [
    ...(await changedDraft(work, changes)),
    { type: 'answer_submitted', body: { ended: 'constant', exit_code: null, signal: null, output, usage: NO_SPEND } },
  ];
}

async function writeAnswer(work: Work, agent: Extract<Agent, { kind: 'fixed' }>): Promise<Changes> {
  const place = await work.scratch.place();
  try {
    const pristine = await copyWorkspace(work, place.workspace);
    const file = join(place.workspace, agent.file);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, agent.answer);
    return await changesIn(work.run.contract, place.workspace, pristine, work.limits.changes, work.redact);
  } catch (cause) {
    throw faultOf(cause, 'workspace');
  } finally {
    await work.scratch.clear(place);
  }
}

/** `workspace_changed`, where something changed. */
export async function changedDraft(work: Work, { content, ...changes }: Changes): Promise<Draft[]> {
  if (changes.files.length === 0 && changes.protected.length === 0) return [];
  return [{ type: 'workspace_changed', body: { ...changes, content: await toBlob(contentText(content), work) } }];
}
