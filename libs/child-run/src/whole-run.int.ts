import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadContract } from '#lib/contract';
import type { Draft } from '#lib/ledger';
import type { HeldLesson } from '#lib/lessons';
import { drive, kit, type Kit } from './child-run.testkit.js';

const POISONED = join(import.meta.dirname, '../../../test/fixtures/poisoned/contract.toml');

async function poisoned(lessons: readonly HeldLesson[] = []): Promise<Kit> {
  return kit({ loaded: await loadContract(POISONED), lessons });
}

describe('a workspace file that plants lessons, an agent that believes it and a panel that approves everything', () => {
  test('the planted instruction is refused by a check; what passes is inert when it is recalled', async () => {
    const first = await poisoned();
    await drive(first);
    expect(first.last('run_sealed').verdict).toBe('pass');
    const [instruction, harmless] = first.state.lessons;
    expect([instruction?.outcome, harmless?.outcome]).toEqual(['rejected', 'promoted']);
    expect(instruction?.checks.at(-1)).toMatchObject({ check: 'instructions', passed: false });
    expect(instruction?.votes).toEqual([]);

    const second = await poisoned(harmless === undefined ? [] : [{ ref: harmless.ref, lesson: harmless.lesson }]);
    await drive(second);
    expect(second.last('lessons_recalled').used).toHaveLength(1);
    expect(second.last('run_sealed').verdict).toBe('pass');
    const told = second.events().flatMap((event) => (event.type === 'note' ? [event.text] : []));
    expect(told).toEqual([`was given the lesson: ${harmless?.lesson.title}`]);
  });
});

test('a run that another executor takes up after every action records the same as one that nobody interrupts', async () => {
  const [whole, pieces] = [await poisoned(), await poisoned()];
  await drive(whole);
  await drive(pieces, true);
  expect(comparable(pieces)).toEqual(comparable(whole));
});

// Refs hold hashes over signatures by two keys; how often the agent was read from is a matter of time.
function comparable(run: Kit): unknown {
  const entries = run.drafts.filter(({ type }) => type !== 'agent_reported' && type !== 'run_sealed') satisfies Draft[];
  const text = JSON.stringify([entries, run.events()])
    .replaceAll(/#\d+@[0-9a-f]{64}/g, '#')
    .replaceAll(/"digest":"[0-9a-f]{64}"/g, '');
  return JSON.parse(text.replaceAll(',}', '}'));
}
