import type { Reply } from './wire.js';

class ClaimError extends Error {
  override readonly name = 'ClaimError';
}

export function claim(holds: boolean, message: () => string): asserts holds {
  if (!holds) throw new ClaimError(message());
}

export function same(what: string, actual: unknown, expected: unknown): void {
  const [got, wanted] = [JSON.stringify(actual), JSON.stringify(expected)];
  claim(got === wanted, () => `${what}: expected ${wanted}, got ${got}`);
}

/** The value of a header; undefined if it is absent. Asserts that it has at most one line. */
export function field(reply: Reply, name: string): string | undefined {
  const values = reply.lines.flatMap(([key, value]) => (key === name ? [value] : []));
  claim(
    values.length < 2,
    () => `${reply.request}: ${name} has ${values.length} lines: ${values.join(' | ')}`,
  );
  return values[0];
}

export function hasFields(
  reply: Reply,
  expected: Readonly<Record<string, string | undefined>>,
): void {
  for (const [name, value] of Object.entries(expected)) {
    same(`${reply.request} (${reply.status}), ${name}`, field(reply, name), value);
  }
}

export function hasStatus(reply: Reply, expected: number): void {
  claim(
    reply.status === expected,
    () =>
      `${reply.request}: expected status ${expected}, got ${reply.status}: ${reply.body.slice(0, 300)}`,
  );
}

/**
 * Retries `attempt` while an assertion fails. After five seconds, throws the last error, but only after four attempts,
 * because on a busy machine one may take seconds. Not more, because calls are nested.
 */
export async function eventually<Value>(attempt: () => Value | Promise<Value>): Promise<Value> {
  const end = performance.now() + 5_000;
  for (let tried = 1, pauseMs = 5; ; tried += 1, pauseMs = Math.min(2 * pauseMs, 250)) {
    try {
      return await attempt();
    } catch (error) {
      const isOver = tried >= 4 && performance.now() > end;
      if (isOver || !(error instanceof ClaimError)) throw error;
    }
    await pause(pauseMs);
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
