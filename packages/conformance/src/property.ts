import fc from 'fast-check';
import type { Settings } from './harness.js';

export function weighted<T>(...choices: readonly (readonly [number, T])[]): fc.Arbitrary<T> {
  return fc.oneof(...choices.map(([weight, value]) => ({ weight, arbitrary: fc.constant(value) })));
}

/**
 * Runs `body` with generated inputs and shrinks a failing input.
 *
 * @throws Error with the message of the smallest failure found, and the seed
 */
export async function forAll<T>(
  input: fc.Arbitrary<T>,
  { runs, seed }: Settings,
  body: (input: T) => Promise<void>,
): Promise<void> {
  const result = await fc.check(fc.asyncProperty(input, body), { numRuns: runs, seed });
  if (!result.failed) return;
  const error = result.errorInstance;
  const { numRuns, numShrinks } = result;
  const told = `(seed ${seed}, run ${numRuns}, shrunk ${numShrinks} times)`;
  if (!(error instanceof Error)) throw new Error(`${String(error)}\n${told}`);
  error.message += `\n${told}`;
  throw error;
}
