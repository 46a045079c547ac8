import { registerContract } from '../contracts/run.js';
import type { CliError } from '../exit-codes.js';
import { AUDIENCE, Said, type TestCluster } from './cluster.testkit.js';
import { type RequestFlags, runRequest } from './run.js';

export interface Answer {
  readonly code: number;
  readonly stdout: string;
  readonly said: string;
}

/** What a command answers, whether it throws or not. */
export async function said(work: (terminal: Said) => Promise<number>): Promise<Answer> {
  const terminal = new Said();
  try {
    const code = await work(terminal);
    return { code, stdout: terminal.stdout, said: terminal.stderr };
  } catch (error) {
    const { exitCode = 1, message } = error as Partial<CliError> & Error;
    return { code: exitCode, stdout: terminal.stdout, said: message };
  }
}

/** `truss request` with a key, to the end. */
export const asking = (cluster: TestCluster, contract: string, part: Partial<RequestFlags> = {}): Promise<Answer> => {
  const flags = { contract, key: cluster.keyFile, audience: AUDIENCE, repeats: 1, wait: true, ...part };
  return said((terminal) => runRequest(flags, { place: cluster.place, terminal }));
};
const withoutKey = ({ key: _key, ...flags }: Partial<RequestFlags>): Partial<RequestFlags> => flags;
/** The same without a key. */
export const unsigned = (cluster: TestCluster, contract: string, part: Partial<RequestFlags> = {}): Promise<Answer> =>
  said((terminal) =>
    runRequest(
      { contract, audience: AUDIENCE, requester: 'ci', repeats: 1, wait: true, ...withoutKey(part) },
      { place: cluster.place, terminal },
    ),
  );
export const register = (cluster: TestCluster, file: string, part = {}): Promise<Answer> =>
  said((terminal) =>
    registerContract(file, { key: cluster.keyFile, audience: AUDIENCE, ...part }, { place: cluster.place, terminal }),
  );
