import { z } from 'zod';
import { attachmentSchema, HASH } from '#lib/ledger';

/** The text of a contract and its files as a tar.gz: each an attachment of the log, or, by its URL, somewhere else. */
export const archivedFilesSchema = z.strictObject({
  toml: attachmentSchema,
  /** `null`: the contract needs no file but itself. */
  archive: z
    .strictObject({ sha256: z.string().regex(HASH), size: z.int().min(1), url: z.string().nullable() })
    .nullable(),
});
export type ArchivedFiles = z.infer<typeof archivedFilesSchema>;

/** Where the files of a contract are on this machine, or where they may be had from. A hint, checked against the signed digests. */
export const filesHintSchema = z.union([
  z.strictObject({ directory: z.string(), workspace: z.string().nullable() }),
  archivedFilesSchema,
]);
