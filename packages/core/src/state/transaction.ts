/**
 * Runs one transaction of a backend. If the backend is late, doesn't call `decide` or violates its contract, the call
 * fails and nothing changes.
 */

import { systemClock } from '../base/clock.js';
import { SpillwayError, show } from '../base/errors.js';
import type { ApplyOptions } from '../contract/store.js';
import type { StateBackend, StateChanges } from './state-backend.js';

/** Calculates the result and the changes from the texts and the database's time. May throw or be called again. */
type Work<Result> = (
  texts: readonly (string | undefined)[],
  nowUs: number,
) => { readonly result: Result; readonly changes: StateChanges };

/**
 * Runs `work` in one transaction, and resolves to the result of its last call. `names` has each name once, in ascending
 * order.
 */
export async function transact<Result>(
  backend: StateBackend,
  names: readonly string[],
  { deadlineUs = Infinity }: ApplyOptions,
  work: Work<Result>,
): Promise<Result> {
  const checkTime = () => {
    if (deadlineUs !== Infinity && systemClock.nowUs() > deadlineUs) throw tooLate();
  };
  checkTime();
  let last = (): Result => {
    throw undecided();
  };
  await backend.transact(names, (texts, nowUs) => {
    // Errors are rethrown outside the transaction, because a backend may wrap errors thrown inside it.
    try {
      checkTime();
      checkReading(names.length, texts, nowUs);
      const { result, changes } = work(texts, nowUs);
      last = () => result;
      return changes;
    } catch (error) {
      last = () => {
        throw error;
      };
      return new Map();
    }
  });
  return last();
}

function checkReading(count: number, texts: unknown, nowUs: number): void {
  if (!Array.isArray(texts) || texts.length !== count) {
    throw broken(`a list of ${count} texts, got ${show(texts)}`);
  }
  for (const text of texts) {
    if (text !== undefined && typeof text !== 'string') {
      throw broken(`a text or undefined for each name, got ${show(text)}`);
    }
  }
  if (!Number.isSafeInteger(nowUs) || nowUs < 0) {
    throw broken(`the time in whole microseconds as a number, got ${show(nowUs)}`);
  }
}

function broken(wanted: string): SpillwayError {
  return new SpillwayError('SPW_STORE_ERROR', `the backend must call decide with ${wanted}`);
}

function undecided(): SpillwayError {
  return new SpillwayError(
    'SPW_STORE_ERROR',
    'the backend ended the transaction without a decision: transact must call decide',
  );
}

function tooLate(): SpillwayError {
  return new SpillwayError(
    'SPW_STORE_TIMEOUT',
    'the deadline passed before the database could decide',
  );
}
