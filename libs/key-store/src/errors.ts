/** `keys_in_the_way`, `keys_missing`, `keys_exposed`, `keys_broken`, `trust_broken`: nothing was changed. */
export class KeyStoreError extends Error {
  override readonly name = 'KeyStoreError';
  constructor(
    readonly code: 'keys_in_the_way' | 'keys_missing' | 'keys_exposed' | 'keys_broken' | 'trust_broken',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
