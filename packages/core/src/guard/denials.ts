/** Refusals remembered until the moment they promised: who is refused is refused again without a call of the store. */

import { type Clock, systemClock } from '../clock.js';
import { stepWindow } from '../machines/window.js';
import { measure } from '../measure.js';
import { sameRule } from '../rule.js';
import type { Answer, Step, Store, WindowAnswer } from '../store.js';
import { type Denial, DenialTable } from './denial-table.js';

/** What a count is known by. */
type Counted = Pick<Step, 'limiter' | 'key'>;

/** How many refused keys are remembered; the oldest make room. */
const KEPT = 50_000;

/** Then the store is asked again all the same: so soon does a refund or a reset by another process free a key here. */
const LONGEST_US = 60_000_000;

/** Slots for the moments at which something was given back. Two keys that share one only learn a refusal later. */
const SLOTS = 1_024;

/**
 * Exact for every rule about what was done over time: nothing but a refund, a reset or a change of the rule can admit a cost sooner
 * than was promised. Never for leases, which may be free again at any time.
 */
export class Denials {
  private readonly table = new DenialTable();
  /** By limiter and key, the place in the table. */
  private readonly limiters = new Map<string, Map<string, number>>();
  private readonly givenBackUs = new Float64Array(SLOTS);
  private size = 0;

  constructor(private readonly clock: Clock = systemClock) {}

  /** The store's own answer to `step`, brought to now, if it is sure to be a refusal. */
  find(step: Step): Answer | undefined {
    const { table } = this;
    const place = this.limiters.get(step.limiter)?.get(step.key);
    if (place === undefined) return undefined;
    const nowUs = this.clock.nowUs();
    const rule = table.ruleOf(place);
    if (nowUs >= table.untilUs(place) || (rule !== step.rule && !sameRule(rule, step.rule))) {
      this.drop(step);
      return undefined;
    }
    // A log's answer is about one cost only: which entry must go is not told for another.
    const cost = table.costOf(place);
    const applies = rule.machine === 'log' ? step.cost === cost : step.cost >= cost;
    return applies ? rolled(step, table.answerAt(place, nowUs)) : undefined;
  }

  /** Notes `answer` to `step`, which was asked at `askedUs`: a refusal that will end is remembered, a grant makes older ones untrue. */
  learn(step: Step, answer: Answer, askedUs: number): void {
    if (answer.failure || step.rule.machine === 'leases') return;
    if (step.op === 'record' || answer.allowed) this.drop(step);
    if (step.op !== 'take' || answer.allowed || !step.binding) return;
    // Decided, perhaps, before something was given back.
    if (askedUs <= (this.givenBackUs[slotOf(step)] as number)) return;
    const { rule, cost } = step;
    const { retryAfterMs, resetMs } = measure(rule, answer, cost);
    if (!(retryAfterMs > 0)) return;
    // A log that has run empty meanwhile says so, also to a cost that can never pass.
    const validMs =
      rule.machine === 'log' && resetMs > 0 ? Math.min(retryAfterMs, resetMs) : retryAfterMs;
    const untilUs = askedUs + Math.min(Math.round(validMs * 1000), LONGEST_US);
    this.keep(step, { rule, cost, answer, learnedUs: this.clock.nowUs(), untilUs });
  }

  /** Something is given back, or was just now: call it when the store is asked to, and again when it has answered. */
  forget(counted: Counted): void {
    this.givenBackUs[slotOf(counted)] = this.clock.nowUs();
    this.drop(counted);
  }

  /** Something was changed live: what was asked before, even if it is answered later, may not hold any more. */
  clear(): void {
    this.limiters.clear();
    this.table.clear();
    this.size = 0;
    this.givenBackUs.fill(this.clock.nowUs());
  }

  now(): number {
    return this.clock.nowUs();
  }

  private keep(counted: Counted, denial: Denial): void {
    this.drop(counted);
    if (this.size >= KEPT) this.makeRoom();
    let keys = this.limiters.get(counted.limiter);
    if (!keys) {
      keys = new Map();
      this.limiters.set(counted.limiter, keys);
    }
    keys.set(counted.key, this.table.add(denial));
    this.size += 1;
  }

  private drop({ limiter, key }: Counted): void {
    const keys = this.limiters.get(limiter);
    const place = keys?.get(key);
    if (place === undefined) return;
    keys?.delete(key);
    this.table.remove(place);
    this.size -= 1;
  }

  /** Of the limiter that has most. */
  private makeRoom(): void {
    let limiter = '';
    let most = 0;
    for (const [name, keys] of this.limiters) {
      if (keys.size <= most) continue;
      limiter = name;
      most = keys.size;
    }
    const oldest = this.limiters.get(limiter)?.keys().next();
    if (oldest && !oldest.done) this.drop({ limiter, key: oldest.value });
  }
}

/** The answer in the window of its `nowUs`; all other state is the same as it was. */
function rolled({ rule }: Step, answer: Answer): Answer {
  if (rule.machine !== 'window') return answer;
  const { nowUs, startUs, current, previous } = answer as WindowAnswer;
  const state = { dirty: false, windowUs: rule.windowUs, startUs, current, previous };
  stepWindow(rule, state, 'look', 1, nowUs, false);
  return {
    allowed: false,
    nowUs,
    startUs: state.startUs,
    current: state.current,
    previous: state.previous,
  };
}

function slotOf({ limiter, key }: Counted): number {
  let hash = limiter.length;
  for (let i = 0; i < key.length; i += 1) hash = (Math.imul(hash, 31) + key.charCodeAt(i)) | 0;
  return hash & (SLOTS - 1);
}

const DENIALS = Symbol('spillway.denials');

/** What is known of a store's refusals, one for all that ask it: what one of them gives back, the others must not refuse. */
export function denialsOf(store: Store, clock: Clock = systemClock): Denials {
  const owner = store as Store & { [DENIALS]?: Denials };
  if (!owner[DENIALS]) Object.defineProperty(owner, DENIALS, { value: new Denials(clock) });
  return owner[DENIALS] as Denials;
}
