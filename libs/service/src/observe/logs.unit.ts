import { expect, test } from 'vitest';
import { createLogger, redactor, secretsOf } from './logs.js';

function lines(secrets: readonly string[]) {
  const written: string[] = [];
  const destination = { write: (line: string) => void written.push(line) };
  return { logger: createLogger({ level: 'info', service: 'test', secrets, destination }), written };
}

test('a line is JSON with time, level and service', () => {
  const { logger, written } = lines([]);
  logger.info({ eval_run_id: 'ev_1' }, 'hello');
  expect(JSON.parse(written[0] ?? '')).toMatchObject({
    level: 'info',
    service: 'test',
    eval_run_id: 'ev_1',
    msg: 'hello',
    time: expect.stringMatching(/^\d{4}-.*Z$/),
  });
});

test('a secret is in no line, whether it comes as a field, in a text, in an error or in a URL', () => {
  const canary = 'CANARY "7f3a"\\/é';
  const { logger, written } = lines([canary]);
  logger.warn({ password: canary, url: `redis://u:${encodeURIComponent(canary)}@h` }, `failed with ${canary}`);
  logger.error({ err: new Error(`refused ${canary}`) }, 'no');
  const text = written.join('');
  expect(text).toContain('[redacted]');
  expect(text).not.toContain('7f3a');
  for (const line of written) expect(() => JSON.parse(line)).not.toThrow();
});

test('a text of a few letters is no secret that could be told from innocent text', () => {
  expect(redactor(['on'])('one')).toBe('one');
});

test('variables whose names speak of secrets are secret', () => {
  expect(secretsOf({ OPENAI_API_KEY: ' sk-1 ', PATH: '/bin', DB_PASSWORD: 'p', EMPTY_TOKEN: '' })).toEqual([
    'sk-1',
    'p',
  ]);
});
