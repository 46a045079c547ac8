import type { SASLOptions } from 'kafkajs';
import type { ConnectionOptions } from 'node:tls';
import { z } from 'zod';
import type { SettingsReader } from './reader.js';
import { tokenFromClientCredentials, tokenFromFile } from './oauth.js';
import { hasOwnTls, tlsOf } from './tls.js';
import { isLoopback } from './urls.js';
import { boolean } from './values.js';

export interface KafkaConnection extends KafkaSettings {
  readonly clientId: string;
}

export interface KafkaSettings {
  readonly brokers: string[];
  readonly ssl?: ConnectionOptions | true;
  readonly sasl?: SASLOptions;
}

const MECHANISMS = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER'] as const;
type Mechanism = (typeof MECHANISMS)[number];

const broker = /^(\[[0-9a-fA-F:]+\]|[^\s:,/@]+):(\d{1,5})$/;
const brokersSchema = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .refine((all) =>
    all.every((one) => Number(broker.exec(one)?.[2] ?? 0) > 0 && Number(broker.exec(one)?.[2]) < 65_536),
  );

export function kafkaOf(reader: SettingsReader, warnings: string[]): KafkaSettings | undefined {
  const expected = 'host:port, or several with commas between them';
  const brokers = reader.parsed('TRUSS_BROKERS', brokersSchema, expected);
  const mechanism = reader.parsed(
    'TRUSS_KAFKA_SASL_MECHANISM',
    z.string().toUpperCase().pipe(z.enum(MECHANISMS)),
    MECHANISMS.join(', '),
  );
  const certificates = tlsOf(reader, 'KAFKA');
  const sasl = mechanism === undefined ? undefined : saslOf(reader, mechanism, certificates);
  const wanted = reader.parsed('TRUSS_KAFKA_TLS', boolean, 'true or false');
  const tls = wanted ?? (mechanism !== undefined || hasOwnTls(reader, 'KAFKA'));
  if (wanted === false && hasOwnTls(reader, 'KAFKA'))
    reader.problem('TRUSS_KAFKA_TLS', 'is false, and a TRUSS_KAFKA_TLS_… file is set: take one of them away');
  if (brokers === undefined) return undefined;
  if (
    !tls &&
    (mechanism === 'PLAIN' || mechanism === 'OAUTHBEARER') &&
    !brokers.every((one) => isLoopback(hostOf(one)))
  )
    warnings.push(`TRUSS_KAFKA_TLS is false: the ${mechanism} secret travels readable to the brokers`);
  return { brokers, ...(tls ? { ssl: certificates ?? true } : {}), ...(sasl === undefined ? {} : { sasl }) };
}

function hostOf(address: string): string {
  return address.slice(0, address.lastIndexOf(':'));
}

function saslOf(reader: SettingsReader, mechanism: Mechanism, tls?: ConnectionOptions): SASLOptions | undefined {
  switch (mechanism) {
    case 'PLAIN':
    case 'SCRAM-SHA-256':
    case 'SCRAM-SHA-512': {
      const username = reader.required('TRUSS_KAFKA_SASL_USERNAME', `the principal of ${mechanism}`);
      const password = secretFor(reader, 'TRUSS_KAFKA_SASL_PASSWORD', mechanism);
      if (username === undefined || password === undefined) return undefined;
      if (mechanism === 'PLAIN') return { mechanism: 'plain', username, password };
      if (mechanism === 'SCRAM-SHA-256') return { mechanism: 'scram-sha-256', username, password };
      return { mechanism: 'scram-sha-512', username, password };
    }
    case 'OAUTHBEARER':
      return oauthOf(reader, tls);
    default:
      return mechanism satisfies never;
  }
}

function oauthOf(reader: SettingsReader, tls?: ConnectionOptions): SASLOptions | undefined {
  const file = reader.text('TRUSS_KAFKA_OAUTH_TOKEN_FILE');
  const url = reader.text('TRUSS_KAFKA_OAUTH_TOKEN_URL');
  if (file !== undefined) {
    if (url !== undefined)
      return reader.problem(
        'TRUSS_KAFKA_OAUTH_TOKEN_URL',
        'is set, and so is TRUSS_KAFKA_OAUTH_TOKEN_FILE: keep one of them',
      );
    // Read once now, so that a wrong path is a message at the start and not a connection that never comes.
    const token = reader.fileText('TRUSS_KAFKA_OAUTH_TOKEN_FILE');
    if (token !== undefined) reader.secrets.push(token.trim());
    return { mechanism: 'oauthbearer', oauthBearerProvider: tokenFromFile(file) };
  }
  if (url === undefined)
    return reader.problem(
      'TRUSS_KAFKA_OAUTH_TOKEN_URL',
      'is not set, nor is TRUSS_KAFKA_OAUTH_TOKEN_FILE; expected one of them for OAUTHBEARER: set one',
    );
  if (!z.url({ protocol: /^https?$/ }).safeParse(url).success)
    reader.problem('TRUSS_KAFKA_OAUTH_TOKEN_URL', 'is no URL; expected one such as https://host/oauth2/token');
  const clientId = reader.required('TRUSS_KAFKA_OAUTH_CLIENT_ID', 'the client of OAUTHBEARER');
  const clientSecret = secretFor(reader, 'TRUSS_KAFKA_OAUTH_CLIENT_SECRET', 'OAUTHBEARER');
  const scope = reader.text('TRUSS_KAFKA_OAUTH_SCOPE');
  if (clientId === undefined || clientSecret === undefined) return undefined;
  const credentials = { url, clientId, clientSecret, ...(scope === undefined ? {} : { scope }), ...(tls && { tls }) };
  return { mechanism: 'oauthbearer', oauthBearerProvider: tokenFromClientCredentials(credentials) };
}

function secretFor(
  reader: SettingsReader,
  name: 'TRUSS_KAFKA_SASL_PASSWORD' | 'TRUSS_KAFKA_OAUTH_CLIENT_SECRET',
  mechanism: Mechanism,
): string | undefined {
  const said = reader.problemsOf(name, `${name}_FILE`);
  const secret = reader.secret(name);
  if (secret !== undefined || reader.problemsOf(name, `${name}_FILE`) > said) return secret;
  return reader.problem(name, `is not set, nor is ${name}_FILE; expected the secret of ${mechanism}: set one of them`);
}
