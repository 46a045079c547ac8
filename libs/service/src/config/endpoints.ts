import { z } from 'zod';
import type { RedisConnection } from '#lib/event-log/redis';
import type { RegistryConnection } from '#lib/schemas';
import type { SettingsReader } from './reader.js';
import { tlsOf } from './tls.js';
import { endpointOf } from './urls.js';

export function registryOf(reader: SettingsReader, warnings: string[]): RegistryConnection | undefined {
  const names = {
    url: 'TRUSS_REGISTRY',
    username: 'TRUSS_REGISTRY_USERNAME',
    password: 'TRUSS_REGISTRY_PASSWORD',
  } as const;
  const endpoint = endpointOf(reader, names, { clear: 'http:', secure: 'https:' });
  const tls = tlsOf(reader, 'REGISTRY');
  if (endpoint === undefined) return undefined;
  const { url, secure, loopback, username, password } = endpoint;
  if (password !== undefined && !secure && !loopback)
    warnings.push('TRUSS_REGISTRY is http: its password travels readable');
  return {
    url,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls === undefined || !secure ? {} : { tls }),
  };
}

/** @param name as `CLIENT LIST` shows the connection */
export function redisOf(reader: SettingsReader, warnings: string[], name: string): RedisConnection | undefined {
  const names = { url: 'TRUSS_REDIS', username: 'TRUSS_REDIS_USERNAME', password: 'TRUSS_REDIS_PASSWORD' } as const;
  const endpoint = endpointOf(reader, names, { clear: 'redis:', secure: 'rediss:' });
  const tls = tlsOf(reader, 'REDIS');
  if (endpoint === undefined) return undefined;
  const { url, secure, loopback, username, password } = endpoint;
  if (password !== undefined && !secure && !loopback)
    warnings.push('TRUSS_REDIS is redis: and not rediss: its password travels readable');
  return {
    url,
    name,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls === undefined || !secure ? {} : { tls }),
  };
}

export interface OtlpSettings {
  /** Whole, with the path. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export function otlpOf(reader: SettingsReader): OtlpSettings | null {
  const url = reader.parsed(
    'TRUSS_OTLP_ENDPOINT',
    z.url({ protocol: /^https?$/ }),
    'a URL such as http://127.0.0.1:4318',
  );
  const text = reader.secret('TRUSS_OTLP_HEADERS') ?? '';
  const headers: Record<string, string> = {};
  for (const part of text.split(',').filter((one) => one.trim() !== '')) {
    const [, name, value] = /^\s*([A-Za-z0-9-]+)=(.+)$/.exec(part) ?? [];
    if (name === undefined || value === undefined) {
      reader.problem(
        'TRUSS_OTLP_HEADERS',
        'cannot be read; expected name=value, or several with commas between them: correct it',
      );
      break;
    }
    reader.secrets.push(value.trim());
    headers[name] = value.trim();
  }
  return url === undefined ? null : { url: `${url.replace(/\/$/, '')}/v1/traces`, headers };
}
