import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { ConnectionOptions } from 'node:tls';
import type { SettingsReader } from './reader.js';
import type { VariableName } from './variables.js';

export type Peer = 'KAFKA' | 'REGISTRY' | 'REDIS';

/** Certificates for one connection: its own, else those for all. `undefined`: none are set. */
export function tlsOf(reader: SettingsReader, peer: Peer): ConnectionOptions | undefined {
  const own = hasOwnTls(reader, peer);
  const named = (part: 'CA' | 'CERT' | 'KEY'): VariableName => {
    const shared = `TRUSS_TLS_${part}_FILE` as const;
    const its = `TRUSS_${peer}_TLS_${part}_FILE` as const;
    return reader.text(its) !== undefined || (own && reader.text(shared) === undefined) ? its : shared;
  };
  const [caName, certName, keyName] = [named('CA'), named('CERT'), named('KEY')];
  const ca = reader.fileText(caName);
  const cert = reader.fileText(certName);
  const key = reader.fileText(keyName);
  if (ca !== undefined) certificate(reader, caName, ca);
  const shown = cert === undefined ? undefined : certificate(reader, certName, cert);
  const secret = key === undefined ? undefined : privateKey(reader, keyName, key);
  if (reader.text(certName) !== undefined && reader.text(keyName) === undefined)
    reader.problem(keyName, `is not set, and ${certName} is; expected the private key of that certificate: set both`);
  if (reader.text(keyName) !== undefined && reader.text(certName) === undefined)
    reader.problem(certName, `is not set, and ${keyName} is; expected the certificate of that key: set both`);
  if (shown !== undefined && secret !== undefined && !shown.checkPrivateKey(secret))
    reader.problem(keyName, `is not the key of the certificate in ${certName}: give the two that belong together`);
  if (ca === undefined && cert === undefined) return undefined;
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
  };
}

/** Whether certificates are set for this connection in particular. */
export function hasOwnTls(reader: SettingsReader, peer: Peer): boolean {
  return (['CA', 'CERT', 'KEY'] as const).some((part) => reader.text(`TRUSS_${peer}_TLS_${part}_FILE`) !== undefined);
}

function certificate(reader: SettingsReader, name: VariableName, pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return reader.problem(name, `names ${reader.text(name)}, which holds no certificate; expected PEM`);
  }
}

function privateKey(reader: SettingsReader, name: VariableName, pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return reader.problem(
      name,
      `names ${reader.text(name)}, which holds no private key; expected PEM without a passphrase`,
    );
  }
}
