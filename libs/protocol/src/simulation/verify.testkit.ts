import { verifyEvaluation } from '#lib/verification';
import { holds, STORE, STORE_BYTES, STORE_REF } from './keys.testkit.js';
import type { World } from './world.testkit.js';

/** Verifies every evaluation of a finished world offline, from its records alone; says what is wrong. */
export async function verifyWorld(world: World): Promise<string[]> {
  const records = world.log.map((entry, position) => ({ position, record: entry.envelope }));
  const wrong: string[] = [];
  for (const [evaluation, { state }] of world.referee.truths) {
    const { result, findings } = await verifyEvaluation({
      evaluation,
      records,
      keys: STORE,
      attachment: async (sha256) => (sha256 === STORE_REF.sha256 ? STORE_BYTES : null),
      verifySignatures: async (batch) => batch.map(({ key, message, signature }) => holds(key.id, message, signature)),
    });
    const expected = state.closed?.body.outcome === 'complete' ? 'valid' : 'ended';
    if (result === expected) continue;
    const errors = findings.filter(({ severity }) => severity === 'error').slice(0, 5);
    wrong.push(`${evaluation} is ${result}, not ${expected}: ${JSON.stringify(errors)}`);
  }
  return wrong;
}
