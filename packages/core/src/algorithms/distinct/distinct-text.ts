/** The distinct items of a key as stored text: `1` and the packed list in base64. */

import type { Ask, LogAnswer } from '../../contract/ask.js';
import type { DistinctRule } from '../../contract/rule.js';
import type { Step } from '../../contract/store.js';
import { type StoredCount, unknownFormat } from '../stored-count.js';
import { type DistinctState, noItems, stepDistinct, WIDTH } from './distinct-step.js';

declare function btoa(binary: string): string;
declare function atob(base64: string): string;

export function readDistinct(text: string | undefined): StoredCount {
  return new StoredDistinct(text === undefined ? '' : itemsIn(text));
}

function itemsIn(text: string): string {
  let items: string | undefined;
  try {
    if (text.startsWith('1')) items = atob(text.slice(1));
  } catch {
    // The text is not base64.
  }
  if (!items || items.length % WIDTH > 0) throw unknownFormat();
  return items;
}

class StoredDistinct implements StoredCount {
  changed = false;
  expiresUs = 0;
  private state: DistinctState;

  constructor(items: string) {
    this.state = { ...noItems(), items };
  }

  step(step: Step, nowUs: number, charge: boolean): LogAnswer {
    const state = { ...this.state };
    const ask = step as Ask<DistinctRule>;
    const allowed = stepDistinct(ask, state, nowUs, charge);
    const { dirty, used, freesUs, lastUs } = state;
    if (dirty) {
      this.state = state;
      this.changed = true;
      this.expiresUs = used > 0 ? lastUs + ask.rule.windowUs : 0;
    }
    return { allowed, nowUs, used, freesUs, lastUs };
  }

  text(): string {
    return `1${btoa(this.state.items)}`;
  }
}
