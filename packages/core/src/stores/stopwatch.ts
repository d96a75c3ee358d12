/** Store decorator: tells how long each call took and what came of it. */

import { systemClock } from '../base/clock.js';
import { isSpillwayError } from '../base/errors.js';
import { isLater } from '../base/host.js';
import type { StoreCallEvent } from '../contract/observer.js';
import type { Store } from '../contract/store.js';

export function withStopwatch(store: Store, tell: (event: StoreCallEvent) => void): Store {
  return {
    sync: store.sync,
    apply(steps, options) {
      const startUs = systemClock.nowUs();
      const end = (outcome: string): void =>
        tell({ durationMs: (systemClock.nowUs() - startUs) / 1000, outcome });
      const answers = store.apply(steps, options);
      if (isLater(answers)) {
        answers.then(
          () => end('ok'),
          (error: unknown) => end(kindOf(error)),
        );
      } else end('ok');
      return answers;
    },
  };
}

/** A word for what went wrong: of few values. */
function kindOf(error: unknown): string {
  if (!isSpillwayError(error)) return 'other';
  return error.kind ?? WORDS[error.code] ?? 'other';
}

const WORDS: Readonly<Record<string, string>> = {
  SPW_STORE_TIMEOUT: 'timeout',
  SPW_STORE_UNAVAILABLE: 'unavailable',
};
