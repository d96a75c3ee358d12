import type { HostSignal } from '../base/host.js';

export interface RequestClaim {
  /**
   * Identifies the run: 16 characters, new for each run. In your database, keep the token of the latest run of each
   * key, and reject writes with another token. Then a handler that was suspended and lost its claim cannot repeat the
   * work of the run that replaced it.
   */
  readonly token: string;
  readonly key: string;
  /**
   * Aborted when another run has started or may start: another owner has the claim, its renewals have failed for a
   * whole lease, or `maxRun` has passed before the response began.
   */
  readonly signal: HostSignal;
}

// A registered symbol, shared with other copies of this package.
const CLAIM = Symbol.for('spillway.claim');

interface Holder {
  [CLAIM]?: RequestClaim;
}

export function rememberClaim(holder: object, claim: RequestClaim): void {
  (holder as Holder)[CLAIM] = claim;
}

/**
 * The claim that the handler of a request runs under; undefined if it has none. The adapter documents which object
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
