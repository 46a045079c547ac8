import { describe, expect, test } from 'vitest';
import type { TopicRecord } from '#lib/event-log';
import type { JsonValue } from '#lib/ledger';
import type { ContractLocator } from '#lib/runtime';
import { contractWith } from '../../../libs/contract/src/smallest.testkit.js';
import { FileHints } from './file-hints.js';

const command = (files: JsonValue): TopicRecord => ({
  topic: 'eval.child-run.commands',
  partition: 0,
  position: 0,
  key: 'a run',
  value: { files },
});
const DIGEST = 'a'.repeat(64);
const PROGRAM = contractWith({ programs: [{ path: 'agent.mjs', bytes: 1, sha256: 'b'.repeat(64) }] });

/** Has the files only from where they are. */
class Places implements ContractLocator {
  readonly asked: JsonValue[] = [];
  private here = false;
  async fetch(_digest: string, hints: JsonValue): Promise<void> {
    this.asked.push(hints);
    this.here ||= JSON.stringify(hints) === '["right"]';
  }
  locate(): { directory: string; workspace: null } | null {
    return this.here ? { directory: '/here', workspace: null } : null;
  }
  whyNot(): string | null {
    return this.here || JSON.stringify(this.asked) === '[[]]' ? null : 'nothing there';
  }
}

describe('where the files of a run may be had', () => {
  test.each([[[]], [['wrong']]])('is asked of the next command, where the first said %j', async (files) => {
    const hints = new FileHints(command(files));
    const places = new Places();
    const fetched = hints.fetch(places, DIGEST, PROGRAM);
    await new Promise((resolve) => setTimeout(resolve, 20));
    hints.add(command(['right']));
    await fetched;
    expect(places.asked).toEqual([files, ['right']]);
    expect(places.locate()).not.toBeNull();
  });

  test('is of no interest for a contract that needs none', async () => {
    const places = new Places();
    await new FileHints(command([])).fetch(places, DIGEST, contractWith());
    expect(places.asked).toEqual([[]]);
  });

  test('is given up where no other command comes', async () => {
    const places = new Places();
    await new FileHints(command(['wrong'])).fetch(places, DIGEST, PROGRAM);
    expect(places.locate()).toBeNull();
  });
});
