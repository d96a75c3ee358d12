/** Refusals remembered until the moment they promised: who is refused is refused again without a call of the store. */

import { type Clock, systemClock } from '../clock.js';
import { stepWindow } from '../machines/window.js';
import { measure } from '../measure.js';
import { sameRule } from '../rule.js';
import type { Answer, Step, WindowAnswer } from '../store.js';

interface Denial {
  readonly step: Step;
  readonly answer: Answer;
  /** On the process's clock, a moment at which the store had not yet decided. */
  readonly askedUs: number;
  readonly untilUs: number;
}

/** How many refused keys are remembered; the oldest make room. */
const KEPT = 50_000;

/**
 * Exact for every rule about what was done over time: nothing but a refund, a reset or a change of the rule can admit a cost sooner
 * than was promised. Never for leases, which may be free again at any time.
 */
export class Denials {
  private readonly known = new Map<string, Denial>();

  constructor(private readonly clock: Clock = systemClock) {}

  /** The store's own answer to `step`, brought to now, if it is sure to be a refusal. */
  find(step: Step): Answer | undefined {
    if (this.known.size === 0) return undefined;
    const id = idOf(step);
    const denial = this.known.get(id);
    if (!denial) return undefined;
    const nowUs = this.clock.nowUs();
    if (nowUs >= denial.untilUs || !sameRule(denial.step.rule, step.rule)) {
      this.known.delete(id);
      return undefined;
    }
    if (step.cost < denial.step.cost) return undefined;
    return aged(step, denial.answer, denial.answer.nowUs + (nowUs - denial.askedUs));
  }

  /** Remembers `answer` to `step`, which was asked at `askedUs`, if it is a refusal that will end. */
  learn(step: Step, answer: Answer, askedUs: number): void {
    if (answer.allowed || answer.failure || !step.binding) return;
    if (step.op !== 'take' || step.rule.machine === 'leases') return;
    const { retryAfterMs } = measure(step.rule, answer, step.cost);
    if (!(retryAfterMs > 0)) return;
    const id = idOf(step);
    this.known.delete(id);
    if (this.known.size >= KEPT) this.known.delete(this.known.keys().next().value as string);
    this.known.set(id, { step, answer, askedUs, untilUs: askedUs + retryAfterMs * 1000 });
  }

  /** Something was given back. */
  forget(step: Step): void {
    if (this.known.size > 0) this.known.delete(idOf(step));
  }

  now(): number {
    return this.clock.nowUs();
  }
}

/** The answer as it would be at `nowUs`: the state is the same, save that windows go on. */
function aged({ rule }: Step, answer: Answer, nowUs: number): Answer {
  if (rule.machine !== 'window') return { ...answer, nowUs };
  const { startUs, current, previous } = answer as WindowAnswer;
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

/** The length of the name keeps (a, b:c) and (a:b, c) apart. */
function idOf({ limiter, key }: Step): string {
  return `${limiter.length} ${limiter} ${key}`;
}
