import { type Command, Option } from 'commander';
import { usageError } from '../exit-codes.js';
import { type Context, contextOf } from './context.js';

/** @throws CliError where no cluster is named */
export function clusterContextOf(command: Command): Context {
  const context = contextOf(command);
  if (context.cluster !== null) return context;
  throw usageError(
    `truss ${nameOf(command)} works on a cluster: add --brokers HOST:PORT, or set TRUSS_BROKERS (truss eval works without one)`,
  );
}

/** @returns the name of the deployment that a signature is for */
export function audienceOption(): Option {
  return new Option('--audience <name>', 'name of the deployment that it is for')
    .env('TRUSS_AUDIENCE')
    .default('truss');
}

export function keyOption(): Option {
  return new Option('--key <file>', 'private key of a requester, which signs it').env('TRUSS_REQUESTER_KEY_FILE');
}

export function archiveOption(): Option {
  return new Option(
    '--archive <url>',
    'where the files of the contract are, if they are more than 256 KiB (file: or https:)',
  );
}

function nameOf(command: Command): string {
  const parent = command.parent?.parent === null || command.parent === null ? '' : `${command.parent.name()} `;
  return `${parent}${command.name()}`;
}
