import { z } from 'zod';
import { cancelRequestedSchema, evalRequestedSchema } from '#lib/evaluation';
import { HASH } from '#lib/ledger';

/** An archive that travels inside its request has at most so many bytes; a larger one is named by a URL. */
export const MAX_INLINE_ARCHIVE = 256 * 1024;
/** The text of a contract inside a request, in UTF-8. Cases beyond it go into a file of the archive. */
export const MAX_TOML = 512 * 1024;

const { requester, request_id, starting_lessons } = evalRequestedSchema.shape;
const hash = z.string().regex(HASH, 'expected 64 lower-case hex digits');
const count = (max: number) => z.int().min(1).max(max);

/** The files of a contract as one tar.gz, pinned by the SHA-256 of its bytes. They stand in the record, or where the URL says. */
const archiveSchema = z
  .strictObject({
    sha256: hash,
    size: count(Number.MAX_SAFE_INTEGER),
    bytes: z
      .base64()
      .max(Math.ceil(MAX_INLINE_ARCHIVE / 3) * 4, 'an archive over 256 KiB is given by its URL')
      .nullable(),
    url: z.string().min(1).max(2048).nullable(),
  })
  .refine(({ bytes, url }) => (bytes === null) !== (url === null), 'expected either `bytes` or `url`');
export type RequestedArchive = z.infer<typeof archiveSchema>;

const contractId = z.string().regex(/^[A-Za-z0-9._-]{1,200}$/, 'expected letters, digits, ".", "_" and "-"');

const contractSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('registered'), id: contractId, digest: hash }),
  z.strictObject({
    kind: z.literal('inline'),
    toml: z.string().min(1).max(MAX_TOML),
    archive: archiveSchema.nullable(),
  }),
]);

const signatureSchema = z.strictObject({
  keyid: hash,
  sig: z.base64().length(88, 'expected 64 bytes'),
  audience: z.string().min(1).max(200),
  expires: z.int().min(0),
});

/**
 * What other systems put on `eval.requested`: the JSON form of the Avro record `EvalRequested` (`schemas/eval.requested.avsc` says what each
 * field means; bytes are base64). `null` is "as the contract says".
 */
export const outsideRequestSchema = z.strictObject({
  kind: z.literal('eval'),
  requester,
  request_id,
  contract: contractSchema,
  repeats: count(1_000_000).nullable(),
  replicates: count(1_000_000).nullable(),
  seed: z.int().min(0),
  concurrency: count(1024).nullable(),
  lessons: starting_lessons.max(1000),
  limits: z.strictObject({ max_cost_nano_usd: count(Number.MAX_SAFE_INTEGER).nullable() }),
  deadline_ms: count(Number.MAX_SAFE_INTEGER).nullable(),
  statistics: z
    .strictObject({
      primary: z.enum(['pass_rate', 'cost_usd', 'steps', 'total_tokens']).nullable(),
      alpha: z.number().gt(0).lt(1).nullable(),
      margin: z
        .number()
        .gt(0)
        .max(2 ** 53)
        .nullable(),
    })
    .nullable(),
  signature: signatureSchema.nullable(),
});
export type OutsideRequest = z.infer<typeof outsideRequestSchema>;

/** The JSON form of the Avro record `EvalCancelRequested`. */
export const outsideCancelSchema = cancelRequestedSchema.extend({
  reason: z.string().max(10_000),
  signature: signatureSchema.optional(),
});
export type OutsideCancel = z.infer<typeof outsideCancelSchema>;

/** What is wrong with a value, as one sentence about the first problem. */
export function firstProblem({ issues: [issue] }: z.ZodError): string {
  if (issue === undefined) return 'the request is not well formed';
  const inner = issue.code === 'invalid_union' ? issue.errors[0]?.[0] : undefined;
  const path = [...issue.path, ...(inner?.path ?? [])].map(String).join('.');
  return `${path === '' ? 'the request' : `\`${path}\``} is not right: ${(inner ?? issue).message}`;
}
