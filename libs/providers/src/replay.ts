import { ProviderError } from './errors.js';
import type { CallOptions, ModelAnswer, ModelPort, ModelRequest } from './port.js';
import { appendCall, readRecording, type RecordedCall } from './recording.js';
import { type FieldDigests, fieldDigests, requestDigest } from './request-digest.js';

export type ReplaySetting = {
  path: string;
  /** The path as the contract writes it. */
  shown: string;
  /** Called for what is not recorded yet, and recorded; `null`: that is refused. Opened when first needed, so that playing needs no key. */
  live: (() => ModelPort) | null;
};

/**
 * Plays recorded calls: the n-th time that a lane asks something, it gets the answer to the n-th such call of that lane. Open one port for
 * each run, because it counts the calls.
 */
export function openReplay({ path, shown, live }: ReplaySetting): ModelPort {
  const recorded = readRecording(path, shown, live !== null).then(byLane);
  // Said by the first call, which awaits it.
  recorded.catch(() => undefined);
  const asked = new Map<string, number>();
  let port: ModelPort | null = null;

  return {
    async call(request: ModelRequest, options: CallOptions): Promise<ModelAnswer> {
      const { lane = '', signal } = options;
      const digest = requestDigest(request);
      const key = `${lane}\n${digest}`;
      const occurrence = options.occurrence ?? asked.get(key) ?? 0;
      asked.set(key, occurrence + 1);
      const lanes = await recorded;
      if (signal.aborted) throw new ProviderError('provider_aborted', 'The call was stopped.');
      const calls = lanes.get(lane) ?? [];
      const found = calls.filter((call) => call.request === digest)[occurrence];
      if (found !== undefined) return structuredClone(found.answer);
      if (live === null) throw differs(shown, lane, calls, request, digest, occurrence);
      port ??= live();
      const answer = await port.call(request, options);
      const call: RecordedCall = { v: 1, lane, request: digest, fields: fieldDigests(request), answer };
      await appendCall(path, call);
      lanes.set(lane, [...(lanes.get(lane) ?? []), call]);
      return answer;
    },
  };
}

function byLane(calls: RecordedCall[]): Map<string, RecordedCall[]> {
  return Map.groupBy(calls, ({ lane }) => lane);
}

function differs(
  shown: string,
  lane: string,
  calls: RecordedCall[],
  request: ModelRequest,
  digest: string,
  occurrence: number,
): ProviderError {
  const refuse = (why: string) =>
    new ProviderError(
      'replay_differs',
      `The recording ${shown} has no such call: ${why}; record again, or change back what differs.`,
    );
  const where = lane === '' ? '' : ` of \`${lane}\``;
  const same = calls.filter((call) => call.request === digest).length;
  if (same > 0) return refuse(`it answers this one ${same} times, and this is time ${occurrence + 1}`);
  const fields = fieldDigests(request);
  const nearest = calls
    .map((call, index) => ({ number: index + 1, names: differences(fields, call.fields) }))
    .reduce<{ number: number; names: string[] } | null>(
      (best, next) => (best !== null && best.names.length <= next.names.length ? best : next),
      null,
    );
  if (nearest === null) return refuse(`nothing${where} is recorded`);
  return refuse(`${list(nearest.names)} differ from call ${nearest.number}${where}, the nearest`);
}

function differences(asked: FieldDigests, recorded: FieldDigests): string[] {
  return [...new Set([...Object.keys(asked), ...Object.keys(recorded)])]
    .filter((name) => asked[name] !== recorded[name])
    .sort();
}

function list(names: string[]): string {
  const shown = names.slice(0, 5).map((name) => `\`${name}\``);
  return names.length > 5 ? `${shown.join(', ')} and ${names.length - 5} more` : shown.join(', ');
}
