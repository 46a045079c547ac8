import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Contract, Provider } from '#lib/contract';
import { ProviderError } from './errors.js';
import { type LiveDeps, openLive } from './live.js';
import type { ModelPort } from './port.js';
import { openReplay } from './replay.js';
import type { LiveKind } from './sdk.js';

export type ModelSetting = {
  /** The provider's name in the contract. */
  name: string;
  contract: Pick<Contract, 'providers' | 'programs'>;
  /** The contract's folder, which recordings are relative to. */
  directory: string;
};

/**
 * The model that a contract names. Open it once for each run: a replay counts the run's calls; limits are shared all the same.
 * @throws ProviderError `provider_key_missing` before anything is sent; `replay_unreadable` for a recording whose bytes are not those
 * that the contract pins
 */
export function openModel({ name, contract, directory }: ModelSetting, deps: LiveDeps): ModelPort {
  const provider = providerOf(contract, name);
  if (isLive(provider)) return openLive(provider, deps);
  const { file, record_from: from } = provider;
  if (file === null) throw new TypeError(`the replay \`${name}\` has no file`);
  const path = join(directory, file);
  if (from === null) checkPinned(path, file, contract);
  const recorded = from === null ? null : providerOf(contract, from);
  const live = recorded !== null && isLive(recorded) ? () => openLive(recorded, deps) : null;
  return openReplay({ path, shown: file, live });
}

export function providerOf({ providers }: Pick<Contract, 'providers'>, name: string): Provider {
  const provider = providers[name];
  if (provider === undefined) throw new TypeError(`the contract has no provider \`${name}\``);
  return provider;
}

function isLive(provider: Provider): provider is Provider & { kind: LiveKind } {
  return provider.kind !== 'replay';
}

function checkPinned(path: string, file: string, { programs }: Pick<Contract, 'programs'>): void {
  const pinned = programs.find((program) => join(program.path) === join(file));
  if (pinned === undefined) return;
  let digest: string | null = null;
  try {
    digest = hash('sha256', readFileSync(path));
  } catch {
    // Reading it for its calls says what is wrong.
  }
  if (digest === null || digest === pinned.sha256) return;
  const message = `The recording ${file} is not the one that the contract pins; start a new evaluation with it.`;
  throw new ProviderError('replay_unreadable', message);
}
