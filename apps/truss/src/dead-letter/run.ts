import type { JsonValue } from '#lib/ledger';
import type { Context } from '../commands/context.js';
import { type ReadDatabase, withDatabase } from '../database.js';
import { CliError, EXIT, type ExitCode, usageError } from '../exit-codes.js';
import { oneLine, table } from '../format.js';
import { type Letter, lettersOf, RETRIED, type Retried } from './letters.js';

type Places = Pick<Context, 'place' | 'terminal'>;

/** `truss dead-letter list`. */
export async function listLetters(
  { json, last }: { readonly json?: boolean; readonly last: number },
  { place, terminal: { out } }: Places,
): Promise<ExitCode> {
  return withDatabase(place, async ({ topics }) => {
    const found: Letter[] = [];
    for await (const letter of lettersOf(topics)) {
      found.push(letter);
      if (found.length > last) found.shift();
    }
    if (json === true) {
      for (const { content: _content, headers: _headers, ...letter } of found)
        await out.write(`${JSON.stringify(letter)}\n`);
      return EXIT.done;
    }
    if (found.length === 0) {
      await out.write(`No dead letter in ${place.name}.\n`);
      return EXIT.done;
    }
    const rows = found.map(({ id, time, place: came, code, key, reason }) => [
      id,
      time === null ? '-' : `${new Date(time).toISOString().slice(0, 19).replace('T', ' ')} UTC`,
      came,
      code,
      shown(key),
      oneLine(reason),
    ]);
    const lines = table([['id', 'refused', 'came on', 'code', 'key', 'reason'], ...rows], [], (cell, row) =>
      row === 0 ? out.paint('dim', cell) : cell,
    );
    await out.write(`${lines.join('\n')}\n`);
    return EXIT.done;
  });
}

/** `truss dead-letter show`: all of one, as JSON. */
export async function showLetter(id: string, { place, terminal: { out } }: Places): Promise<ExitCode> {
  return withDatabase(place, async (database) => {
    const { content, headers, ...letter } = await letterNamed(id, database);
    const texts = Object.fromEntries(
      headers.map(({ key, value }) => [key, value === null ? null : textOf(Buffer.from(value, 'base64'))]),
    );
    const value = await valueOf({ ...letter, headers, content }, database).catch(() => undefined);
    const bytes =
      content.kind === 'bytes' && content.bytes !== null ? Buffer.from(content.bytes).toString('base64') : undefined;
    await out.write(`${JSON.stringify({ ...letter, headers: texts, value, bytes }, null, 2)}\n`);
    return EXIT.done;
  });
}

/** `truss dead-letter retry`: puts the record where it came from once more, in the trace that it came with. */
export async function retryLetter(id: string, { place, terminal: { out } }: Places): Promise<ExitCode> {
  return withDatabase(place, async (database) => {
    const letter = await letterNamed(id, database);
    const topic = RETRIED.find((one): one is Retried => one === letter.topic);
    if (topic === undefined) {
      throw usageError(
        `${id} came on ${letter.topic}, and only what asks for something is sent again: ${RETRIED.join(', ')}`,
      );
    }
    const value = await valueOf(letter, database);
    await database.topics.publish(topic, letter.key, value, traceOf(letter));
    await out.write(`${id} is on ${topic} again. Should it be refused again, truss dead-letter list shows it.\n`);
    return EXIT.done;
  });
}

async function letterNamed(id: string, { topics, place }: ReadDatabase): Promise<Letter> {
  for await (const letter of lettersOf(topics)) if (letter.id === id) return letter;
  throw new CliError(
    EXIT.notFound,
    `there is no dead letter ${id} in ${place.name}: \`truss dead-letter list ${place.option}\` shows what there is`,
  );
}

/** @throws CliError for bytes that nobody can read */
async function valueOf({ id, topic, content }: Letter, { decode }: ReadDatabase): Promise<JsonValue> {
  if (content.kind === 'value') return content.value;
  const from = RETRIED.find((one) => one === topic);
  if (content.bytes === null || decode === undefined || from === undefined)
    throw usageError(`${id} holds no value that could be read: it is nothing that could be sent again`);
  try {
    return await decode(from, content.bytes);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw usageError(`${id} holds bytes that cannot be read (${why}): have its producer send it again`, cause);
  }
}

/** Of its headers the one that is a client's to choose; the others say when and as what it is sent, and are made anew. */
function traceOf({ headers }: Letter): string | undefined {
  const value = headers.find(({ key }) => key === 'traceparent')?.value ?? null;
  return value === null ? undefined : textOf(Buffer.from(value, 'base64'));
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

function shown(key: string): string {
  return key.length > 40 ? `${oneLine(key.slice(0, 39))}…` : oneLine(key);
}
