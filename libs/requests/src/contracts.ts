import { type ArchiveRef, type ArchiveSources, fetchArchive, readContract } from '#lib/archive';
import type { Contract } from '#lib/contract';
import type { ArchivedFiles } from '#lib/evaluation';
import type { EventLog } from '#lib/event-log';
import { fromBase64, sha256Hex, utf8 } from '#lib/ledger';
import { RequestError } from './errors.js';
import type { Registry } from './registry.js';
import { MAX_INLINE_ARCHIVE, type OutsideRequest } from './shape.js';
import { Turns } from './turns.js';

/** A contract that was asked for, and where executors get its files. */
export interface ResolvedContract {
  readonly contract: Contract;
  readonly digest: string;
  readonly files: readonly ArchivedFiles[];
}

export interface ContractResolverOptions {
  readonly log: Pick<EventLog, 'putAttachment'>;
  readonly registry: Registry;
  readonly sources: ArchiveSources;
}

const REMEMBERED = 64;
/** Contracts that are fetched and unpacked side by side: each may take the disk and the time of a large archive. */
const AT_ONCE = 8;

/** Unpacks, loads and keeps the contracts that requests bring or name: each once. */
export class ContractResolver {
  readonly #known = new Map<string, Promise<ResolvedContract>>();
  readonly #turns = new Turns(AT_ONCE);

  constructor(private readonly options: ContractResolverOptions) {}

  /** @throws RequestError, ArchiveError, ContractError; whatever log and topics throw */
  async resolve(asked: OutsideRequest['contract']): Promise<ResolvedContract> {
    if (asked.kind === 'registered') {
      const { toml, archive } = await this.options.registry.find(asked.id, asked.digest);
      const resolved = await this.#once(toml, archive, null);
      if (resolved.digest === asked.digest && resolved.contract.id === asked.id) return resolved;
      throw new RequestError(
        'contract_not_registered',
        `what was registered as ${asked.id} has the digest ${resolved.digest} and not ${asked.digest}: register it again`,
      );
    }
    const { toml, archive } = asked;
    const bytes = archive?.bytes == null ? null : fromBase64(archive.bytes);
    return this.#once(toml, archive, bytes);
  }

  #once(toml: string, archive: ArchiveRef | null, bytes: Uint8Array | null): Promise<ResolvedContract> {
    const name = `${sha256Hex(utf8(toml))}.${archive?.sha256 ?? ''}.${archive?.url ?? ''}`;
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const resolving = this.#turns.take(() => this.#load(toml, archive, bytes));
    this.#known.set(name, resolving);
    resolving.catch(() => this.#known.delete(name));
    if (this.#known.size > REMEMBERED) this.#known.delete(this.#known.keys().next().value ?? '');
    return resolving;
  }

  async #load(toml: string, archive: ArchiveRef | null, inline: Uint8Array | null): Promise<ResolvedContract> {
    const { log, sources } = this.options;
    const attachment = inline === null ? sources.attachment : async () => inline;
    const bytes = archive === null ? null : await fetchArchive(archive, { ...sources, attachment });
    if (inline !== null && inline.length > MAX_INLINE_ARCHIVE)
      throw new RequestError('bad_request', 'an archive over 256 KiB is given by its URL');
    const { contract, digest } = await readContract(toml, bytes, sources.limits);
    checkTravels(contract);
    if (archive === null) return { contract, digest, files: [] };
    // Executors read them from the log, so they are there before the evaluation is.
    const text = await log.putAttachment(utf8(toml));
    if (inline !== null) await log.putAttachment(inline);
    const { sha256, size, url } = archive;
    return { contract, digest, files: [{ toml: text, archive: { sha256, size, url } }] };
  }
}

/** @throws RequestError for a contract that is bound to one machine's folder */
export function checkTravels({ providers }: Contract): void {
  const recorded = Object.entries(providers).find(([, { record_from: from }]) => from !== null);
  if (recorded === undefined) return;
  throw new RequestError(
    'contract_unsupported',
    `provider \`${recorded[0]}\` records into a file beside the contract (\`record_from\`), and there is none where it would run: record with \`truss eval\`, then leave \`record_from\` out`,
  );
}
