import { z } from 'zod';
import { evalRequestedSchema } from '#lib/evaluation';
import { HASH } from '#lib/ledger';

/** An archive that travels inside its request has at most so many bytes; a larger one is named by a URL. */
export const MAX_INLINE_ARCHIVE = 256 * 1024;
/** The text of a contract inside a request, in UTF-8. Cases beyond it go into a file of the archive. */
export const MAX_TOML = 512 * 1024;

const { requester, request_id } = evalRequestedSchema.shape;
const hash = z.string().regex(HASH, 'expected 64 lower-case hex digits');
const count = (max: number) => z.int().min(1).max(max);

/** The files of a contract as one tar.gz, pinned by the SHA-256 of its bytes. They stand in the record, or where the URL says. */
export const archiveSchema = z
  .strictObject({
    sha256: hash,
    /** Bytes of the tar.gz. */
    size: count(Number.MAX_SAFE_INTEGER),
    /** Base64 of the tar.gz, at most 256 KiB of it. */
    inline: z
      .base64()
      .max(Math.ceil(MAX_INLINE_ARCHIVE / 3) * 4, 'an archive over 256 KiB is given by its URL')
      .nullable(),
    /** `https:` or `file:`. */
    url: z.string().max(2048).nullable(),
  })
  .refine(({ inline, url }) => (inline === null) !== (url === null), 'expected either `inline` or `url`');
export type RequestedArchive = z.infer<typeof archiveSchema>;

export const inlineContractSchema = z.strictObject({
  toml: z.string().min(1).max(MAX_TOML),
  /** `null` where the contract needs no file but itself. */
  archive: archiveSchema.nullable(),
});
export type InlineContract = z.infer<typeof inlineContractSchema>;

const contractId = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,200}$/, 'expected 1 to 200 letters, digits, dots, underscores or dashes');
/** `digest`: SHA-256 of the resolved contract, as `truss contracts list` shows it. */
export const registeredContractSchema = z.strictObject({ id: contractId, digest: hash });

const signatureSchema = z.strictObject({
  keyid: hash,
  /** Base64 of the 64 bytes. */
  sig: z.base64().length(88),
});

/**
 * What other systems put on `eval.requested`: the JSON shape of the Avro record `EvalRequested`. `null` is "as the contract says",
 * else the deployment's default.
 */
export const outsideRequestSchema = z
  .strictObject({
    kind: z.literal('eval'),
    requester,
    request_id,
    registered_contract: registeredContractSchema.nullable(),
    inline_contract: inlineContractSchema.nullable(),
    repeats: count(1_000_000).nullable(),
    replicates: count(1_000_000).nullable(),
    /** `null`: it follows from requester and `request_id`. */
    seed: z
      .int()
      .min(0)
      .max(2 ** 53 - 1)
      .nullable(),
    /** Pairs of runs side by side. */
    concurrency: count(1024).nullable(),
    /** Decimal USD, at most nine decimals, for the whole evaluation. */
    max_cost_usd: z
      .string()
      .regex(/^\d{1,6}(\.\d{1,9})?$/, 'expected an amount in USD such as "2.50"')
      .nullable(),
    deadline_ms: count(Number.MAX_SAFE_INTEGER).nullable(),
    primary: z.enum(['pass_rate', 'cost_usd', 'steps', 'total_tokens']).nullable(),
    alpha: z.number().gt(0).lt(1).nullable(),
    margin: z
      .number()
      .gt(0)
      .max(2 ** 53)
      .nullable(),
    /** The deployment that may act on it; needed by a signature. */
    audience: z.string().min(1).max(200).nullable(),
    /** Milliseconds since the epoch from which on a signature is not accepted any more; needed by a signature. */
    expires_at: z.int().min(0).nullable(),
    /** Ed25519 of a `requester` key over what `signedMessage` gives. */
    signature: signatureSchema.nullable(),
  })
  .refine(
    ({ registered_contract, inline_contract }) => (registered_contract === null) !== (inline_contract === null),
    'expected either `registered_contract` or `inline_contract`',
  );
export type OutsideRequest = z.infer<typeof outsideRequestSchema>;
