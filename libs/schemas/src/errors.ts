/** Why a value is not on the wire, or cannot be read from it. */
export type SchemaErrorCode =
  /** Not Confluent wire format: magic byte 0, a schema id in four bytes, the value. */
  | 'not_framed'
  /** The registry has no schema under the id, or a subject lacks the schema of this version. */
  | 'schema_unknown'
  /** The schema exists, and a value of it cannot be read, or registered, as this version needs it. */
  | 'schema_incompatible'
  /** Not a value of its schema. */
  | 'value_malformed'
  /** Nobody can say: ask again later. */
  | 'registry_unavailable';

/** `retryable`: it says nothing of the record, which must not be given up for it. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError';
  readonly retryable: boolean;

  constructor(
    readonly code: SchemaErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.retryable = code === 'registry_unavailable';
  }
}
