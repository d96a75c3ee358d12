import type { LogAnswer } from '../../contract/ask.js';
import type { Numbers } from '../../contract/decision.js';
import type { LogRule, Machine } from '../../contract/rule.js';
import { ratePolicy } from '../decide.js';
import { LogShelf } from './log-shelf.js';

const logMachine: Machine = {
  same: (rule: LogRule, other: LogRule) => rule.windowUs === other.windowUs,
  capacity: ({ limit }: LogRule) => limit,
  share: ({ limit, windowUs }: LogRule, share) => makeLogRule(limit, Math.ceil(windowUs / share)),
  policy: (name, rule: LogRule) => ratePolicy(name, rule),
  declared: ({ limit, windowUs }: LogRule) => ({
    algorithm: 'sliding-window-log',
    limit,
    windowMs: windowUs / 1000,
  }),
  expiresAfterUs: ({ windowUs }: LogRule) => windowUs,
  measure: measureLog,
  receipt: ({ lastUs }: LogAnswer, units) => ({ atUs: lastUs, num: 0, units }),
  merges: true,
  shelf: () => new LogShelf(),
  denials: {
    holdsMs({ limit }: LogRule, { used, retryAfterMs, resetMs }, cost) {
      // If entries expire before this cost passes, `used` changes at times that the answer doesn't contain.
      if (used + cost > limit + 1) return 0;
      // The store's answer changes when the log becomes empty, even for a cost that can never pass.
      return resetMs > 0 ? Math.min(retryAfterMs, resetMs) : retryAfterMs;
    },
    /**
     * The cost decides which entry must expire before a retry passes, so a cached rejection applies to one cost only.
     */
    covers: (cost, kept) => cost === kept,
    write({ used, freesUs, lastUs }: LogAnswer, numbers, at) {
      numbers[at] = used;
      numbers[at + 1] = freesUs;
      numbers[at + 2] = lastUs;
    },
    read(_, numbers, at, nowUs): LogAnswer {
      const used = numbers[at] as number;
      const freesUs = numbers[at + 1] as number;
      return { allowed: false, nowUs, used, freesUs, lastUs: numbers[at + 2] as number };
    },
  },
};

export function makeLogRule(limit: number, windowUs: number): LogRule {
  const code = `l${windowUs.toString(36)}`;
  return { machine: 'log', logic: logMachine, code, limit, windowUs };
}

function measureLog(rule: LogRule, answer: LogAnswer, cost: number): Numbers {
  const { used, freesUs, lastUs, nowUs } = answer;
  let retryAfterMs = 0;
  if (cost > rule.limit) retryAfterMs = Infinity;
  else if (cost > 0 && freesUs >= 0) retryAfterMs = (freesUs + rule.windowUs - nowUs) / 1000;
  return {
    used,
    remaining: Math.max(0, rule.limit - used),
    retryAfterMs,
    resetMs: used > 0 ? (lastUs + rule.windowUs - nowUs) / 1000 : 0,
  };
}
