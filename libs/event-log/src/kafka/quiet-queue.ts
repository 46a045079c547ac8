import { createRequire } from 'node:module';

interface RequestQueue {
  readonly pending: readonly unknown[];
  readonly throttledUntil: number;
  scheduleCheckPendingRequests(): void;
}

const QUEUE = 'kafkajs/src/network/requestQueue';
let quiet = false;

/**
 * kafkajs 2.2.4 re-arms a timer after every reply, with a delay that is negative while nothing is throttled: about 5 % of a core for idle
 * connections, and a TimeoutNegativeWarning on Node 24. With nothing pending there is nothing to look for.
 */
export function quietRequestQueues(): void {
  if (quiet) return;
  quiet = true;
  const queue: unknown = createRequire(import.meta.url)(QUEUE);
  if (!isQueueClass(queue)) return;
  const schedule = queue.prototype.scheduleCheckPendingRequests;
  queue.prototype.scheduleCheckPendingRequests = function (this: RequestQueue): void {
    if (this.pending.length > 0 || this.throttledUntil > Date.now()) schedule.call(this);
  };
}

function isQueueClass(value: unknown): value is { readonly prototype: RequestQueue } {
  return (
    typeof value === 'function' &&
    typeof (value.prototype as Partial<RequestQueue> | undefined)?.scheduleCheckPendingRequests === 'function'
  );
}
