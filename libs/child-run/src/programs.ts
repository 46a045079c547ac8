import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join, posix } from 'node:path';
import { resolveArgv } from '#lib/contract';
import { faultOf, RunFault } from './faults.js';
import type { Place } from './scratch.js';
import type { Work } from './work.js';

/**
 * A command of the contract as it is started here. The contract's programs that it names are checked against their pins first.
 * @throws RunFault `contract_not_here`, `program_changed`
 */
export async function commandOf(work: Work, command: readonly string[]): Promise<string[]> {
  const { contract, contractDigest } = work.run;
  const named = contract.programs.filter(({ path }) => command.some((word) => posix.normalize(word) === path));
  if (named.length === 0) return [...command];
  const directory = work.ports.contractDirectory(contractDigest);
  if (directory === null)
    throw new RunFault(
      'contract',
      'contract_not_here',
      `the files of the contract are not on this machine: ${work.ports.contractProblem?.(contractDigest) ?? 'run it where they are'}`,
    );
  for (const program of named) {
    const found = await sha256Of(join(directory, program.path)).catch((cause: unknown) => {
      throw faultOf(cause, 'contract');
    });
    if (found !== program.sha256) {
      throw new RunFault(
        'contract',
        'program_changed',
        `the program ${program.path} is not the one that the contract pins: put it back, or start a new evaluation`,
      );
    }
  }
  return resolveArgv([...command], directory, contract);
}

async function sha256Of(path: string): Promise<string> {
  const sum = createHash('sha256');
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) sum.update(chunk);
  return sum.digest('hex');
}

/** A program's two streams as one text in which this machine's folders have names of their own: the same on any machine. */
export function shownOutput(
  work: Work,
  place: Place,
  end: { readonly stdout: string; readonly stderr: string },
): string {
  const text =
    end.stderr === ''
      ? end.stdout
      : `${end.stdout}${end.stdout === '' || end.stdout.endsWith('\n') ? '' : '\n'}[stderr]\n${end.stderr}`;
  return withoutPaths(work, place, text);
}

export function withoutPaths(work: Work, place: Place, text: string): string {
  const directory = work.ports.contractDirectory(work.run.contractDigest);
  const shown = text.replaceAll(place.workspace, '<workspace>').replaceAll(place.base, '<run>');
  return directory === null || directory === '/' ? shown : shown.replaceAll(directory, '<contract>');
}
