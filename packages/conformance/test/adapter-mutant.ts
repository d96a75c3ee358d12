/** Makes an adapter wrong in one way. */

import type { Admission } from '@spillway/core';
import type { Pieces } from './demo-service.js';
export interface AdapterMutant {
  /** What is wrong with it. */
  readonly name: string;
  /** The check that must notice, by the beginning of its name. */
  readonly caughtBy: string;
  readonly pieces: Partial<Pieces>;
}

export function mutant(name: string, caughtBy: string, pieces: Partial<Pieces>): AdapterMutant {
  return { name, caughtBy, pieces };
}

/** An adapter that sends something else than the admission says. */
export function tells(
  name: string,
  caughtBy: string,
  change: (admission: Admission) => Partial<Admission>,
): AdapterMutant {
  const admission = (true_: Admission): Admission => ({
    decisions: true_.decisions,
    binding: true_.binding,
    allowed: true_.allowed,
    status: true_.status,
    headers: true_.headers,
    body: true_.body,
    pending: true_.pending,
    release: (outcome) => true_.release(outcome),
    ...change(true_),
  });
  return mutant(name, caughtBy, { admission });
}

/** An adapter that changes the value of a header, or leaves it out. */
export function writes(
  name: string,
  caughtBy: string,
  field: string,
  change: (value: string) => string | undefined,
): AdapterMutant {
  return tells(name, caughtBy, ({ headers }) => ({
    headers: headers.flatMap(([key, value]) => {
      const changed = key === field ? change(value) : value;
      return changed === undefined ? [] : [[key, changed] as const];
    }),
  }));
}

/** An adapter that releases at another moment. */
export function releases(
  name: string,
  caughtBy: string,
  release: Pieces['release'],
): AdapterMutant {
  return mutant(name, caughtBy, { release });
}

/** An adapter that takes the client's address from elsewhere. */
export function looks(name: string, caughtBy: string, address: Pieces['address']): AdapterMutant {
  return mutant(name, caughtBy, { address });
}
