// What every JavaScript host has beside ECMAScript itself and the pure libs use. Read by tsconfig.pure.json only: there, nothing else
// of Node or of a browser has a type, so that tsc refuses it.
declare class TextEncoder {
  encode(text?: string): Uint8Array<ArrayBuffer>;
  encodeInto(text: string, into: Uint8Array): { readonly read: number; readonly written: number };
}
declare class TextDecoder {
  constructor(label?: string, options?: { readonly fatal?: boolean; readonly ignoreBOM?: boolean });
  decode(bytes?: Uint8Array): string;
}
/** The type only: whoever hands over an action says how it is stopped. */
interface AbortSignal {
  readonly aborted: boolean;
}

// ECMAScript's own clock and dice give nothing that anything accepts.
interface ComesInAsAnArgument {
  readonly comesInAsAnArgument: never;
}
interface DateConstructor {
  new (): ComesInAsAnArgument;
  (): ComesInAsAnArgument;
  now(): ComesInAsAnArgument;
}
interface Math {
  random(): ComesInAsAnArgument;
}
