/** What a check claims of an answer; a claim that does not hold throws an error that can be read. */

import type { Reply } from './wire.js';

/** A claim that did not hold. */
class ClaimError extends Error {
  override readonly name = 'ClaimError';
}

export function claim(holds: boolean, message: () => string): asserts holds {
  if (!holds) throw new ClaimError(message());
}

/** Claims that two values look the same in JSON. */
export function same(what: string, actual: unknown, expected: unknown): void {
  const [got, wanted] = [JSON.stringify(actual), JSON.stringify(expected)];
  claim(got === wanted, () => `${what}: expected ${wanted}, got ${got}`);
}

/** The value of a field that may be absent but never has two lines. */
export function field(reply: Reply, name: string): string | undefined {
  const values = reply.lines.flatMap(([key, value]) => (key === name ? [value] : []));
  claim(
    values.length < 2,
    () => `${reply.asked}: ${name} has ${values.length} lines: ${values.join(' | ')}`,
  );
  return values[0];
}

/** Claims the values of fields; undefined claims that there is none. */
export function hasFields(
  reply: Reply,
  expected: Readonly<Record<string, string | undefined>>,
): void {
  for (const [name, value] of Object.entries(expected)) {
    same(`${reply.asked} (${reply.status}), ${name}`, field(reply, name), value);
  }
}

/** Claims the status, and shows the body if it is another. */
export function hasStatus(reply: Reply, expected: number): void {
  claim(
    reply.status === expected,
    () =>
      `${reply.asked}: expected status ${expected}, got ${reply.status}: ${reply.body.slice(0, 300)}`,
  );
}

/**
 * Tries until nothing is claimed in vain, for five seconds, some twenty-five times; then throws what was claimed last.
 */
export async function eventually<Value>(attempt: () => Value | Promise<Value>): Promise<Value> {
  const end = performance.now() + 5_000;
  for (let pauseMs = 5; ; pauseMs = Math.min(2 * pauseMs, 250)) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof ClaimError) || performance.now() > end) throw error;
    }
    await pause(pauseMs);
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
