/** What guards, and limiters without HTTP, are told of those who watch them. */

import { checkList } from '../base/check-shapes.js';
import { checkCallback, isPlainObject } from '../base/checks.js';
import { mustBe } from '../base/errors.js';
import type { Observer } from '../contract/observer.js';

interface Observed {
  readonly observers?: readonly Observer[] | undefined;
  readonly onDecision?: unknown;
  readonly onFault?: unknown;
}

/** @throws SpillwayError `SPW_OPTION_INVALID` */
export function checkObservers({ observers, onDecision, onFault }: Observed): void {
  checkList('observers', observers, 'observers');
  for (const observer of observers ?? []) checkObserver(observer);
  checkCallback('onDecision', onDecision);
  checkCallback('onFault', onFault);
}

/** An observer that watches nothing is most often something else. */
function checkObserver(observer: Observer): void {
  const heard = isPlainObject(observer) ? HEARD.filter((name) => observer[name] !== undefined) : [];
  for (const name of heard) checkCallback(`${name} of an observer`, observer[name]);
  if (heard.length > 0) return;
  throw mustBe('each of observers', `an object with one of ${HEARD.join(', ')}`, observer);
}

const HEARD = [
  'onDecision',
  'onFault',
  'onStoreCall',
  'onBreaker',
  'onStore',
  'onControl',
] as const;
