import { expect, test } from 'vitest';
import { isBlockedPort } from './ports.js';

/** Whether this Node's `fetch` refuses a port. Nothing is sent: the request would go to a dispatcher that takes none. */
async function refuses(port: number): Promise<boolean> {
  const dispatcher = {
    dispatch() {
      throw new Error('asked');
    },
  };
  const init: RequestInit = {};
  const error: unknown = await fetch(`http://127.0.0.1:${port}/`, Object.assign(init, { dispatcher })).catch(
    (cause: unknown) => cause,
  );
  const reason = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
  if (reason !== 'bad port' && reason !== 'asked') throw new Error(reason);
  return reason === 'bad port';
}

test('the ports that are refused in a contract are those that fetch refuses', async () => {
  const ports = Array.from({ length: 11_000 }, (_, i) => i + 1);
  const differing: number[] = [];
  for (const port of [...ports, 65_535]) if ((await refuses(port)) !== isBlockedPort(port)) differing.push(port);
  expect(differing).toEqual([]);
  expect(isBlockedPort(6000)).toBe(true);
});
