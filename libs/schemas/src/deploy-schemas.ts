import { z } from 'zod';
import { subjectOf, WIRE_TOPICS, type WireTopic } from './codec.js';
import type { RegistryConnection } from './connection.js';
import { SchemaError } from './errors.js';
import { askRegistry, type RegistryAnswer } from './registry-http.js';
import { schemaOf } from './schema-files.js';

/** What every reader of this system relies on: the newest schema reads all that was ever written. */
const LEVEL = 'BACKWARD_TRANSITIVE';

export interface DeployedSchema {
  readonly topic: WireTopic;
  readonly subject: string;
  readonly id: number;
  /** `unchanged`: the subject had it before. */
  readonly did: 'registered' | 'unchanged';
  /** The level that the subject had, where it was set to BACKWARD_TRANSITIVE now. */
  readonly raisedFrom: string | null;
}

export interface DeploySchemasOptions {
  readonly registry: RegistryConnection;
  readonly prefix: string;
}

/**
 * Registers the schema of every topic under `<prefix><topic>-value` with compatibility BACKWARD_TRANSITIVE. Safe to call again, and after it
 * stopped half-way.
 * @throws SchemaError `schema_incompatible` with the registry's reason, before anything of the subject has changed; `registry_unavailable`
 */
export async function deploySchemas({ registry, prefix }: DeploySchemasOptions): Promise<readonly DeployedSchema[]> {
  const done: DeployedSchema[] = [];
  for (const topic of WIRE_TOPICS) done.push(await deploy(registry, topic, subjectOf(prefix, topic)));
  return done;
}

async function deploy(registry: RegistryConnection, topic: WireTopic, subject: string): Promise<DeployedSchema> {
  const schema = { schema: schemaOf(topic).text };
  const at = encodeURIComponent(subject);
  const known = await askRegistry(registry, 'POST', `/subjects/${at}`, schema);
  // The level first: no schema is ever registered without it being checked.
  const level = await levelOf(registry, at, subject);
  if (level !== LEVEL) {
    const set = await askRegistry(registry, 'PUT', `/config/${at}`, { compatibility: LEVEL });
    if (set.status !== 200) throw refusal(`setting the compatibility of ${subject}`, set);
  }
  const raisedFrom = level === LEVEL ? null : level;
  if (known.status === 200) return { topic, subject, id: idOf(known), did: 'unchanged', raisedFrom };
  if (known.status !== 404) throw refusal(`looking for ${subject}`, known);
  const made = await askRegistry(registry, 'POST', `/subjects/${at}/versions`, schema);
  if (made.status === 409) {
    throw new SchemaError(
      'schema_incompatible',
      `the schema of ${topic} cannot read what was written with an earlier one under ${subject}: ${saidIn(made)}`,
    );
  }
  if (made.status !== 200) throw refusal(`registering ${subject}`, made);
  return { topic, subject, id: idOf(made), did: 'registered', raisedFrom };
}

const levelSchema = z.object({ compatibilityLevel: z.string().toUpperCase() });

/** `none` where the subject has no level of its own. */
async function levelOf(registry: RegistryConnection, at: string, subject: string): Promise<string> {
  const answer = await askRegistry(registry, 'GET', `/config/${at}`);
  if (answer.status === 404) return 'none';
  const level = levelSchema.safeParse(answer.body);
  if (answer.status !== 200 || !level.success) throw refusal(`reading the compatibility of ${subject}`, answer);
  return level.data.compatibilityLevel;
}

function idOf(answer: RegistryAnswer): number {
  const parsed = z.object({ id: z.int() }).safeParse(answer.body);
  if (!parsed.success) throw refusal('registering', answer);
  return parsed.data.id;
}

function saidIn({ body }: RegistryAnswer): string {
  const parsed = z.object({ message: z.string() }).safeParse(body);
  return parsed.success ? parsed.data.message : JSON.stringify(body).slice(0, 500);
}

function refusal(doing: string, answer: RegistryAnswer): SchemaError {
  const hint = answer.status === 401 || answer.status === 403 ? ': check the credentials and rights' : '';
  return new SchemaError(
    'registry_unavailable',
    `${doing}: the registry answered ${answer.status} (${saidIn(answer)})${hint}`,
  );
}
