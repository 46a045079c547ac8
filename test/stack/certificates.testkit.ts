import { randomUUID } from 'node:crypto';
import { generate } from 'selfsigned';

/** A key and its certificate, PEM (PKCS #8 and X.509). */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/** An authority of one test: what clients trust, and what a server on 127.0.0.1 shows. */
export interface Authority {
  readonly ca: string;
  readonly server: Certificate;
}

export async function createAuthority(): Promise<Authority> {
  const days = { notBeforeDate: new Date(Date.now() - 60_000), notAfterDate: new Date(Date.now() + 86_400_000) };
  const common = { ...days, keyType: 'ec', curve: 'P-256', algorithm: 'sha256' } as const;
  // One who trusts several authorities finds the right one by its name.
  const root = await generate([{ name: 'commonName', value: `truss test ${randomUUID()}` }], {
    ...common,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
  const leaf = await generate([{ name: 'commonName', value: 'localhost' }], {
    ...common,
    ca: { key: root.private, cert: root.cert },
    extensions: [
      { name: 'basicConstraints', cA: false },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' },
        ],
      },
    ],
  });
  return { ca: root.cert, server: { key: leaf.private, cert: leaf.cert } };
}
