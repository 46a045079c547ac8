import type { JsonValue } from '#lib/ledger';

/**
 * What a deployment says of itself in partition 0 of `eval.index`, so that it is lost where the index is: that every evaluation of the ledger stands
 * in the index, and over how many partitions keys are spread. JSON without a frame, for it is written before there are schemas.
 */
export interface DeploymentMark {
  readonly partitions: number;
}

/** No evaluation has such an id. */
export const MARK_KEY = '_deployment';
export const MARK_PARTITION = 0;

export function markBytes({ partitions }: DeploymentMark): Buffer {
  return Buffer.from(JSON.stringify(markValue({ partitions })));
}

export function markValue({ partitions }: DeploymentMark): JsonValue {
  return { eval_run_id: MARK_KEY, complete: true, partitions };
}

/** `null` for what is no mark. */
export function markOf(bytes: Uint8Array | null): DeploymentMark | null {
  // A framed value begins with 0.
  if (bytes === null || bytes[0] !== OPENING_BRACE) return null;
  try {
    const {
      eval_run_id: key,
      complete,
      partitions,
    } = JSON.parse(Buffer.from(bytes).toString()) as Record<string, unknown>;
    if (key !== MARK_KEY || complete !== true) return null;
    return typeof partitions === 'number' && Number.isSafeInteger(partitions) && partitions > 0 ? { partitions } : null;
  } catch {
    return null;
  }
}

const OPENING_BRACE = 0x7b;
