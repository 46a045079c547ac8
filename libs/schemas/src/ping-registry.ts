import type { RegistryConnection } from './connection.js';
import { SchemaError } from './errors.js';
import { askRegistry } from './registry-http.js';

/** `null` where the registry answers and lets this process in; else what is wrong, in a few words. Never throws for a registry that is down. */
export async function pingRegistry(registry: RegistryConnection): Promise<string | null> {
  try {
    const { status } = await askRegistry(registry, 'GET', '/schemas/types');
    if (status === 401 || status === 403) return `refuses the credentials (${status})`;
    return status === 200 ? null : `answers with ${status}`;
  } catch (error) {
    if (error instanceof SchemaError) return error.message;
    throw error;
  }
}
