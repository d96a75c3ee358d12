/** The signal by which hosts tell that work is to end. */

/** The `AbortSignal` of whoever compiles against this, if that has one. */
export type HostSignal = typeof globalThis extends { AbortSignal: { prototype: infer Own } }
  ? Own
  : { readonly aborted: boolean };
