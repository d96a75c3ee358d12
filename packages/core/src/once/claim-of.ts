/** What a handler can know of the claim under which it runs. */

/** The claim of a request. */
export interface RequestClaim {
  /**
   * Who has the claim, new for each run: 16 characters. Write it beside what the handler writes, and let a write with
   * another token fail: then a handler that lost its claim while it slept cannot do a second time what another did.
   */
  readonly token: string;
  /** The idempotency key. */
  readonly key: string;
  /** Aborts when the claim was lost: another run may have begun. */
  readonly signal: HostSignal;
}

// A registered symbol: it is found by another copy of this package too.
const CLAIM = Symbol.for('spillway.claim');

interface Holder {
  [CLAIM]?: RequestClaim;
}

/** Keeps the claim with the object that stands for its request. */
export function rememberClaim(holder: object, claim: RequestClaim): void {
  (holder as Holder)[CLAIM] = claim;
}

/**
 * The claim under which the handler of a request runs; undefined if it runs under none. Each adapter says which object
 * stands for the request, as for `admissionsOf`.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http';
 * import { claimOf, idempotency } from '@spillway/core';
 * import { nodeGuard } from '@spillway/core/node';
 *
 * const guard = nodeGuard(idempotency({ scope: (request) => request.header('x-verified-account') }));
 * createServer(async (req, res) => {
 *   if (await guard(req, res)) res.end(`run by ${claimOf(req)?.token}`);
 * });
 * ```
 */
export function claimOf(holder: object): RequestClaim | undefined {
  return (holder as Holder)[CLAIM];
}

/** The `AbortSignal` of whoever compiles against this, if that has one. */
export type HostSignal = typeof globalThis extends { AbortSignal: { prototype: infer Own } }
  ? Own
  : { readonly aborted: boolean };
