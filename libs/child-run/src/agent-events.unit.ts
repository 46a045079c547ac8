import { describe, expect, test } from 'vitest';
import { nanoUsd, parseEvent } from './agent-events.js';

const usage = (line: string) => {
  const event = parseEvent(line);
  return event?.type === 'usage' ? event.usage : event;
};

describe('a line of the event file', () => {
  test('is a step, a note, a lesson or a citation, whatever else it carries', () => {
    expect(parseEvent('{"type":"step","name":"edit","at":3}')).toEqual({ type: 'step', name: 'edit' });
    expect(parseEvent(' {"type":"note","text":"hm"}\r')).toEqual({ type: 'note', text: 'hm' });
    expect(parseEvent('{"type":"cited","lesson":"l_1"}')).toEqual({ type: 'cited', lesson: 'l_1' });
    expect(parseEvent('{"type":"lesson","title":"t","when":"w","text":"x"}')).toEqual({
      type: 'lesson',
      title: 't',
      when: 'w',
      when_not: '',
      text: 'x',
    });
  });

  test('that reports a usage counts money in whole nano-dollars', () => {
    expect(usage('{"type":"usage","input_tokens":10,"output_tokens":2,"cost_usd":0.1}')).toEqual({
      cost_nano_usd: 100_000_000,
      steps: 0,
      input_tokens: 10,
      output_tokens: 2,
      unmeasured_calls: 0,
    });
  });

  test('that leaves a number out leaves it unknown, which is one unmeasured call and never zero', () => {
    expect(usage('{"type":"usage","input_tokens":10,"output_tokens":null}')).toMatchObject({
      cost_nano_usd: null,
      input_tokens: 10,
      output_tokens: null,
      unmeasured_calls: 1,
    });
  });

  test('that leaves only the cost out is one call without a price, and measured', () => {
    expect(usage('{"type":"usage","input_tokens":10,"output_tokens":2}')).toEqual({
      cost_nano_usd: null,
      steps: 0,
      input_tokens: 10,
      output_tokens: 2,
      unmeasured_calls: 0,
      unpriced_calls: 1,
    });
  });

  test.each([
    'not json',
    '[]',
    'null',
    '{"type":"started"}',
    '{"type":"garbage","text":"x"}',
    '{"type":"usage","input_tokens":-1}',
    '{"type":"usage","input_tokens":1.5}',
    '{"type":"usage","input_tokens":1e300}',
    '{"type":"usage","cost_usd":-0.1}',
    '{"type":"usage","cost_usd":"0.1"}',
    '{"type":"usage","cost_usd":1e999}',
    '{"type":"note","text":"\\ud800"}',
    '{"type":"lesson","title":"t"}',
  ])('that is no event, or claims what cannot be, is kept as garbage: %s', (line) => {
    expect(parseEvent(line)).toEqual({ type: 'garbage', text: line });
  });

  test('that is blank is nothing', () => {
    expect(parseEvent('  \r')).toBeNull();
  });
});

test('decimal dollars become nano-dollars without a float sum, to the nearest', () => {
  const cases: [number, number][] = [
    [0, 0],
    [0.000000001, 1],
    [1e-10, 0],
    [0.1 + 0.2, 300_000_000],
    [1234.567890123, 1_234_567_890_123],
    [1_000_000, 1_000_000_000_000_000],
  ];
  for (const [usd, nano] of cases) expect(nanoUsd(usd)).toBe(nano);
});
