import { openSigner, SERVICE_ROLES, type ServiceRole } from '#lib/key-store';
import type { Signer, TrustStore } from '#lib/ledger';
import type { Ports } from '#lib/runtime';

type Signers = Ports['signers'];

/**
 * The signers of the roles that a process has. Whoever asks for another's has a fault, and is told so: no process signs for a role that it does not serve.
 * @throws KeyStoreError
 */
export function openSigners(
  roles: readonly ServiceRole[],
  keyFiles: Readonly<Record<ServiceRole, string | null>>,
  trust: TrustStore,
): Signers {
  const signers: Partial<Record<ServiceRole, Signer>> = {};
  for (const role of roles) {
    const file = keyFiles[role];
    if (file !== null) signers[role] = openSigner(file, role, trust);
  }
  return signersOf(signers);
}

export function signersOf(held: Readonly<Partial<Record<ServiceRole, Signer>>>): Signers {
  const signers = {};
  for (const role of SERVICE_ROLES) {
    Object.defineProperty(signers, role, {
      enumerable: true,
      get: () => {
        const signer = held[role];
        if (signer === undefined)
          throw new Error(`this process does not serve as ${role}, and has no key to sign as one`);
        return signer;
      },
    });
  }
  return signers as Signers;
}
