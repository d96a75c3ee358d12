/** Token buckets as stored text, as in Redis: the instant at which the bucket is full again, as `us` or `us:num`. */

import type { Ask, BucketAnswer } from '../../contract/ask.js';
import type { BucketRule, Rule } from '../../contract/rule.js';
import type { Step } from '../../contract/store.js';
import { numbersOf, type StoredCount, unknownFormat } from '../stored-count.js';
import { type BucketState, bucketAnswer, mayWrite, stepBucket } from './bucket-step.js';

const FORM = /^(\d+)(?::(\d+))?$/;

export function readBucket(text: string | undefined, rule: Rule): StoredCount {
  const [tatUs = 0, tatNum = 0] = text === undefined ? [] : numbersOf(text, FORM);
  if (tatNum >= (rule as BucketRule).den) throw unknownFormat();
  return new StoredBucket({ tatUs, tatNum, forgiven: undefined });
}

class StoredBucket implements StoredCount {
  changed = false;
  private readonly state: BucketState;

  constructor(state: BucketState) {
    this.state = state;
  }

  get expiresUs(): number {
    return this.state.tatUs + (this.state.tatNum > 0 ? 1 : 0);
  }

  step(step: Step, nowUs: number, charge: boolean): BucketAnswer {
    const { state } = this;
    const { tatUs, tatNum } = state;
    const ask = step as Ask<BucketRule>;
    const allowed = stepBucket(ask, state, nowUs, charge);
    const differs = state.tatUs !== tatUs || state.tatNum !== tatNum;
    if (ask.op === 'reset' || (differs && mayWrite(ask, allowed))) this.changed = true;
    return bucketAnswer(state, nowUs, allowed);
  }

  text(): string {
    const { tatUs, tatNum } = this.state;
    return tatNum === 0 ? `${tatUs}` : `${tatUs}:${tatNum}`;
  }
}
