import { describe, expect, test } from 'vitest';
import { FAULTS } from '../../libs/protocol/src/simulation/faults.testkit.js';
import type { Invariant } from '../../libs/protocol/src/simulation/referee.testkit.js';
import { runSeed } from '../../libs/protocol/src/simulation/simulation.testkit.js';

const MOST_SEEDS = 5000;

/** What may break first when the rule is loosened. */
const BREAKS: Readonly<Record<string, readonly Invariant[]>> = {
  'a take-over below the live head': ['unconfirmed_effect', 'offset_past_unfinished'],
  'the first entry at a seq wins': ['unconfirmed_effect', 'offset_past_unfinished', 'anchor_mismatch'],
  'an anchor on any sealed branch': ['anchor_mismatch'],
  'a session kept after a loss': ['equivocation', 'repeated_action'],
  'an effect without the second check': ['displaced_effect'],
  'writer_changed after the seal': ['anchor_mismatch', 'unconfirmed_effect'],
  'commands sent again only on restart': ['never_ends'],
  'a command finished on lost': ['offset_past_unfinished'],
  'an offset past eval_closed before the report': ['offset_past_unfinished'],
  'a position trusted': ['unconfirmed_effect'],
};

describe('a rule of the section on writing, loosened, is found', { timeout: 300_000 }, () => {
  test.each(FAULTS.map((rules) => [rules.name, rules] as const))('%s', (name, rules) => {
    for (let seed = 0; seed < MOST_SEEDS; seed++) {
      const { violation } = runSeed(seed, { rules });
      if (violation === null) continue;
      expect(BREAKS[name], `seed ${seed}: ${violation.message}`).toContain(violation.invariant);
      return;
    }
    expect.fail(`not found in ${MOST_SEEDS} seeds`);
  });
});
