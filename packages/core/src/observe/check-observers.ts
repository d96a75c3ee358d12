import { checkList } from '../base/check-shapes.js';
import { checkCallback, isPlainObject } from '../base/checks.js';
import { mustBe } from '../base/errors.js';
import type { Observer } from '../contract/observer.js';

export interface Observed {
  readonly observers?: readonly Observer[] | undefined;
  readonly onDecision?: unknown;
  readonly onFault?: unknown;
}

export function checkObservers({ observers, onDecision, onFault }: Observed): void {
  checkList('observers', observers, 'observers');
  for (const observer of observers ?? []) checkObserver(observer);
  checkCallback('onDecision', onDecision);
  checkCallback('onFault', onFault);
}

function checkObserver(observer: Observer): void {
  const own = isPlainObject(observer) ? METHODS.filter((name) => observer[name] !== undefined) : [];
  for (const name of own) checkCallback(`${name} of an observer`, observer[name]);
  if (own.length > 0) return;
  throw mustBe('each of observers', `an object with one of ${METHODS.join(', ')}`, observer);
}

const METHODS = [
  'onDecision',
  'countDecision',
  'onEnd',
  'onUnits',
  'onWait',
  'onFault',
  'onStoreCall',
  'onBreaker',
  'onStore',
  'onControl',
] as const;
