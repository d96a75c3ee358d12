/**
 * Claims as stored text, as in Redis: the end, `r` (running) or `d` (done), the owner and the note. Example:
 * `1767225660000000raaaaaaaaaaaaaaaa`.
 */

import type { Ask, ClaimsAnswer } from '../../contract/ask.js';
import type { ClaimsRule } from '../../contract/rule.js';
import type { Step } from '../../contract/store.js';
import { type StoredCount, unknownFormat, wholeNumber } from '../stored-count.js';
import { type ClaimState, FREE, stepClaim } from './claim-step.js';

const FORM = /^(\d{1,16})(?:r([\w-]{16})|d([\w-]{16})([\x20-\x7e]{0,256}))$/;

export function readClaim(text: string | undefined): StoredCount {
  return new StoredClaim(text === undefined ? FREE : claimOf(text));
}

function claimOf(text: string): ClaimState {
  const [, end, runner, doer, note = ''] = FORM.exec(text) ?? [];
  const endsUs = wholeNumber(Number(end));
  if (runner) return { state: 'running', owner: runner, endsUs, note: '' };
  if (doer) return { state: 'done', owner: doer, endsUs, note };
  throw unknownFormat();
}

class StoredClaim implements StoredCount {
  changed = false;
  private state: ClaimState;

  constructor(state: ClaimState) {
    this.state = state;
  }

  get expiresUs(): number {
    return this.state.endsUs;
  }

  step(step: Step, nowUs: number, charge: boolean): ClaimsAnswer {
    const { answer, dirty } = stepClaim(step as Ask<ClaimsRule>, this.state, nowUs, charge);
    if (dirty) {
      this.state = answer;
      this.changed = true;
    }
    return answer;
  }

  text(): string {
    const { state, owner, endsUs, note } = this.state;
    return `${endsUs}${state === 'done' ? 'd' : 'r'}${owner}${note}`;
  }
}
