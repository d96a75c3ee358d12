import { type Fingerprint, randomSeed, shortened } from '../../base/fingerprint.js';
import type { Ask, ClaimsAnswer } from '../../contract/ask.js';
import type { ClaimsRule } from '../../contract/rule.js';
import type { Shelf, ShelfStep } from '../../contract/shelf.js';
import { type Expiring, KeyedStates } from '../shelves/keyed-states.js';
import { type ClaimState, FREE, stepClaim } from './claim-step.js';

type StoredClaim = ClaimState & Expiring;

/**
 * A longer name is stored as two fingerprints. With only one fingerprint, two claims could share a name, and one
 * request would get the response of the other.
 */
const LONGEST_NAME = 128;

export class ClaimShelf implements Shelf<ClaimsRule, StoredClaim> {
  readonly grows = false;
  readonly alone = true;
  private readonly states = new KeyedStates<StoredClaim>();
  private seeds: readonly [Fingerprint, Fingerprint] | undefined;

  get size(): number {
    return this.states.size;
  }

  find(ask: Ask<ClaimsRule>): StoredClaim | undefined {
    return this.states.get(ask.limiter, ask.rule.code, this.claimNameOf(ask));
  }

  step({ ask, nowUs, charge, count = FREE }: ShelfStep<ClaimsRule, ClaimState>): ClaimsAnswer {
    const { answer, dirty } = stepClaim(ask, count, nowUs, charge);
    if (dirty) this.storeClaim(ask, answer);
    return answer;
  }

  expiresAtUs(_: ClaimsRule, { endsUs }: ClaimsAnswer): number {
    return endsUs;
  }

  reclaim(nowUs: number): void {
    this.states.reclaim(nowUs, () => undefined);
  }

  private storeClaim(ask: Ask<ClaimsRule>, { state, owner, endsUs, note }: ClaimState): void {
    const { limiter, rule } = ask;
    const name = this.claimNameOf(ask);
    if (state === 'free') this.states.delete(limiter, rule.code, name);
    else {
      const kept = { state, owner, endsUs, note, expiresUs: endsUs };
      this.states.set(limiter, rule.code, name, kept);
    }
  }

  /** The name starts with the key's length, so no other key and id give the same name. */
  private claimNameOf({ key, claim }: Ask<ClaimsRule>): string {
    const name = `${key.length} ${key}${claim?.id ?? ''}`;
    if (name.length <= LONGEST_NAME) return name;
    this.seeds ??= [randomSeed(), randomSeed()];
    const [one, other] = this.seeds;
    return shortened(name, one) + shortened(name, other);
  }
}
