/** The numbers of a decision about a window. */

import { mulDiv } from '../../base/exact.js';
import type { WindowAnswer } from '../../contract/ask.js';
import type { Numbers } from '../../contract/decision.js';
import type { WindowRule } from '../../contract/rule.js';

export function measureWindow(rule: WindowRule, answer: WindowAnswer, cost: number): Numbers {
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

/** The first instant at which `cost` passes if no other request comes; an instant before now if it passes already. */
function passesAtUs(rule: WindowRule, answer: WindowAnswer, cost: number): number {
  const { limit, windowUs } = rule;
  const { startUs, current, previous } = answer;
  const room = limit - current - cost;
  if (cost === 0 || (room >= 0 && previous <= room)) return 0;
  if (room >= 0) return startUs + fadesAfterUs(previous, room, windowUs);
  // Not in this window. In the next one, this window counts as the previous one and weighs less with time.
  const fadesUs = rule.kind === 'sliding' ? fadesAfterUs(current, limit - cost, windowUs) : 0;
  return startUs + windowUs + fadesUs;
}

/** Microseconds from the start of a window until the `count` of the window before it weighs at most `room` units. */
function fadesAfterUs(count: number, room: number, windowUs: number): number {
  return count <= room ? 0 : windowUs - mulDiv(room, windowUs, count).whole;
}
