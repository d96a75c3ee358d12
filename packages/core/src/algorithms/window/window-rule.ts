import { mulDiv } from '../../base/exact.js';
import type { WindowAnswer } from '../../contract/ask.js';
import type { Numbers } from '../../contract/decision.js';
import type { Machine, WindowRule } from '../../contract/rule.js';
import { ratePolicy } from '../decide.js';
import { WindowShelf } from './window-shelf.js';
import { stepWindow } from './window-step.js';

const windowMachine: Machine = {
  same: (rule: WindowRule, other: WindowRule) =>
    rule.windowUs === other.windowUs && rule.kind === other.kind,
  capacity: ({ limit }: WindowRule) => limit,
  share: ({ limit, windowUs, kind }: WindowRule, share) =>
    makeWindowRule(limit, Math.ceil(windowUs / share), kind),
  soften: (rule: WindowRule) => ({ ...rule, limit: MOST_COUNTED }),
  policy: (name, rule: WindowRule) => ratePolicy(name, rule),
  declared: ({ limit, windowUs, kind }: WindowRule) => ({
    algorithm: NAMES[kind],
    limit,
    windowMs: windowUs / 1000,
  }),
  expiresAfterUs: ({ windowUs }: WindowRule) => 2 * windowUs,
  measure: measureWindow,
  receipt: ({ startUs }: WindowAnswer, units) => ({ atUs: startUs, num: 0, units }),
  merges: true,
  shelf: () => new WindowShelf(),
  denials: {
    holdsMs: (_, { retryAfterMs }) => retryAfterMs,
    covers: (cost, kept) => cost >= kept,
    write({ startUs, current, previous }: WindowAnswer, numbers, at) {
      numbers[at] = startUs;
      numbers[at + 1] = current;
      numbers[at + 2] = previous;
    },
    /** Moves the answer to the window of `nowUs`, which may be later than the cached one. */
    read(rule: WindowRule, numbers, at, nowUs): WindowAnswer {
      const state = {
        dirty: false,
        startUs: numbers[at] as number,
        current: numbers[at + 1] as number,
        previous: numbers[at + 2] as number,
      };
      stepWindow({ op: 'look', rule, cost: 1 }, state, nowUs, false);
      const { startUs, current, previous } = state;
      return { allowed: false, nowUs, startUs, current, previous };
    },
  },
};

/** The highest count that fits into a slot of the memory store. */
const MOST_COUNTED: number = 2 ** 32 - 1;

const NAMES: Readonly<Record<WindowRule['kind'], string>> = {
  fixed: 'fixed-window',
  anchored: 'fixed-window:first-request',
  sliding: 'sliding-window-counter',
};

export function makeWindowRule(
  limit: number,
  windowUs: number,
  kind: WindowRule['kind'],
): WindowRule {
  const code = `${kind.charAt(0)}${windowUs.toString(36)}`;
  return { machine: 'window', logic: windowMachine, code, limit, windowUs, kind };
}

function measureWindow(rule: WindowRule, answer: WindowAnswer, cost: number): Numbers {
  const { limit, windowUs } = rule;
  const { startUs, current, previous, nowUs } = answer;
  const left = windowUs - Math.max(0, nowUs - startUs);
  const weighed = mulDiv(previous, left, windowUs);
  const used = current + weighed.whole + (weighed.rest > 0 ? 1 : 0);
  const endUs = startUs + windowUs;

  let resetUs = 0;
  if (current > 0) resetUs = (rule.kind === 'sliding' ? endUs + windowUs : endUs) - nowUs;
  else if (previous > 0) resetUs = endUs - nowUs;
  return {
    used,
    remaining: Math.max(0, limit - used),
    retryAfterMs:
      cost > limit ? Infinity : Math.max(0, passesAtUs(rule, answer, cost) - nowUs) / 1000,
    resetMs: resetUs / 1000,
  };
}

/** The first instant at which `cost` passes if no other requests arrive; in the past if it passes now. */
function passesAtUs(rule: WindowRule, answer: WindowAnswer, cost: number): number {
  const { limit, windowUs } = rule;
  const { startUs, current, previous } = answer;
  const room = limit - current - cost;
  if (cost === 0 || (room >= 0 && previous <= room)) return 0;
  if (room >= 0) return startUs + fadesAfterUs(previous, room, windowUs);
  // The cost doesn't pass in this window. In the next one, this window counts as the previous one, with decreasing
  // weight.
  const fadesUs = rule.kind === 'sliding' ? fadesAfterUs(current, limit - cost, windowUs) : 0;
  return startUs + windowUs + fadesUs;
}

/** Microseconds from the start of a window until the `count` of the previous window weighs at most `room` units. */
function fadesAfterUs(count: number, room: number, windowUs: number): number {
  return count <= room ? 0 : windowUs - mulDiv(room, windowUs, count).whole;
}
