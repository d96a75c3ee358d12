/** An app's own answer to a rejected request, and what is wrong with it where the default rejection is sent instead. */

import { SpillwayError } from '../base/errors.js';
import { afterIdly, isThenable } from '../base/host.js';

/** How long it may take. */
export const OWN_ANSWER_MS = 10_000;

const WHY: Readonly<Record<'end' | 'late' | 'next', string>> = {
  next: 'called next(), which does nothing: a rejected request never reaches the handler',
  end: 'returned without an answer, so the problem document was sent',
  late: `has not answered within ${OWN_ANSWER_MS / 1000} s, so the problem document was sent`,
};

/** Reports that there was no answer; {@link Gate.tell} makes a fault of it. */
export type TellMissing = (error: SpillwayError) => void;

export function answerMissing(why: keyof typeof WHY): SpillwayError {
  return new SpillwayError('SPW_ANSWER_MISSING', `onRefused ${WHY[why]}`);
}

/**
 * Runs an own answer where the framework sends the response as soon as that has ended. Gives undefined, of which `tell`
 * is told, if there is no answer then, or after 10 s.
 *
 * @param answer calls the app; what it throws, or rejects with, this rejects with
 * @param taken the answer, by what `answer` gave; undefined if there is none
 */
export async function ownAnswer<Answer>(
  answer: () => unknown,
  taken: (value: unknown) => Answer | undefined,
  tell: TellMissing,
): Promise<Answer | undefined> {
  const own = answer();
  let isLate = false;
  const value = !isThenable(own)
    ? own
    : await new Promise((resolve, reject) => {
        const cancel = afterIdly(OWN_ANSWER_MS, () => {
          isLate = true;
          resolve(undefined);
        });
        Promise.resolve(own).finally(cancel).then(resolve, reject);
      });
  const answered = taken(value);
  if (answered === undefined) tell(answerMissing(isLate ? 'late' : 'end'));
  return answered;
}
