import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SASLOptions } from 'kafkajs';
import { createAuthority } from './certificates.testkit.js';
import { type Cluster, startCluster } from './kafka.testkit.js';
import { makePassword, scratchFolder } from './scratch.testkit.js';

/** What a client of the secure cluster connects with; it fits kafkajs and our own connection. */
export interface SecureConnection {
  readonly brokers: string[];
  readonly clientId: string;
  readonly ssl: { readonly ca: string };
  readonly sasl: SASLOptions;
}

export interface SecureCluster extends Cluster {
  /** PEM of the authority that signed the brokers' certificate. */
  readonly ca: string;
  readonly passwords: ReadonlyMap<string, string>;
  /** By SCRAM-SHA-512 over TLS. The principal `admin` may do everything, others what ACLs say: `User:<name>`. */
  as(principal: string): SecureConnection;
}

/**
 * One broker whose clients must come by SASL (SCRAM-SHA-256, SCRAM-SHA-512, PLAIN, or OAUTHBEARER with unsigned tokens) over TLS, with ACLs on and
 * none given. Certificate and passwords are made now.
 */
export async function startSecureCluster(principals: readonly string[]): Promise<SecureCluster> {
  const authority = await createAuthority();
  const passwords = new Map(['admin', ...principals].map((name) => [name, makePassword()]));
  const accounts = [...passwords];
  const folder = scratchFolder('tls');
  const keystore = join(folder, 'broker.pem');
  writeFileSync(keystore, `${authority.server.key}\n${authority.server.cert}\n${authority.ca}`, { mode: 0o600 });

  const listener = 'listener.name.clients';
  const logins = {
    'scram-sha-256': 'scram.ScramLoginModule required;',
    'scram-sha-512': 'scram.ScramLoginModule required;',
    plain: `plain.PlainLoginModule required ${accounts.map(([name, password]) => `user_${name}="${password}"`).join(' ')};`,
    oauthbearer: 'oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";',
  };
  const cluster = await startCluster({
    settings: {
      'listener.security.protocol.map': 'CLIENTS:SASL_SSL,INNER:PLAINTEXT,CONTROLLER:PLAINTEXT',
      'ssl.keystore.type': 'PEM',
      'ssl.keystore.location': keystore,
      [`${listener}.sasl.enabled.mechanisms`]: Object.keys(logins).join(',').toUpperCase(),
      ...Object.fromEntries(
        Object.entries(logins).map(([mechanism, login]) => [
          `${listener}.${mechanism}.sasl.jaas.config`,
          `org.apache.kafka.common.security.${login}`,
        ]),
      ),
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'allow.everyone.if.no.acl.found': 'false',
      // The brokers among themselves are anonymous, on listeners that no client of a test's subject is told.
      'super.users': 'User:ANONYMOUS;User:admin',
    },
    format: accounts.flatMap(([name, password]) =>
      ['SCRAM-SHA-256', 'SCRAM-SHA-512'].flatMap((mechanism) => [
        '--add-scram',
        `${mechanism}=[name=${name},password=${password}]`,
      ]),
    ),
  });
  return {
    ...cluster,
    ca: authority.ca,
    passwords,
    as(principal) {
      const password = passwords.get(principal);
      if (password === undefined) throw new Error(`The cluster was started without the principal ${principal}`);
      const sasl = { mechanism: 'scram-sha-512', username: principal, password } as const;
      return { brokers: cluster.brokers, clientId: principal, ssl: { ca: authority.ca }, sasl };
    },
    async close() {
      await cluster.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
