/** Correct histories that a law once considered wrong, each with a wrong one beside it. */

import { type History, LAWS } from '@spillway/conformance/simulator';
import { makeClaimsRule, makeRule } from '@spillway/core/store';
import { expect, it } from 'vitest';

/** Ada is rejected by the store; the reply arrives at `endUs`. At 1 s a rejection comes from the cache. */
function rejectedFromCache(endUs: number): History {
  const process = {};
  const rule = makeRule('token-bucket', 1, 7_000_000);
  const step = { op: 'take', limiter: 'rate', key: 'ada', rule, cost: 1, binding: true };
  const answer = { allowed: false, nowUs: 999_800, tatUs: 4_000_000, tatNum: 0 };
  const call = { process, act: 0, steps: [step], sentUs: 999_700, answers: [answer], endUs };
  const decision = { limiter: 'rate', outcome: 'denied', reason: 'rate', cost: 1 };
  const outcome = { act: 1, process, startUs: 1_000_000, startServerUs: 1_000_000, allowed: false };
  const acts = [
    { kind: 'consume', key: 'ada' },
    { kind: 'consume', key: 'ada' },
  ];
  return {
    plan: { faults: [], acts },
    calls: [call],
    outcomes: [{ ...outcome, decisions: [{ ...decision, retryAfterMs: 3_000 }] }],
  } as unknown as History;
}

it('a rejection can be cached in the microsecond in which the next request begins', () => {
  const law = LAWS['cachedRejectionsAreTrue'];
  expect(law?.(rejectedFromCache(1_000_000))).toBeUndefined();
  expect(law?.(rejectedFromCache(1_000_001))).toMatch(/against the store/);
});

/** Bea's response is stored for 10 s. It is sent again, because the reply was lost; at `at`, Cy takes the key. */
function takenAfterKept(at: number): History {
  const rule = makeClaimsRule(1_000_000, 10_000_000);
  const call = (nowUs: number, op: string, owner: string, isAnswered = true) => {
    const claim = { id: 'order', owner };
    const step = { op, limiter: 'once', key: 'ada', rule, cost: 1, binding: true, claim };
    const answered = isAnswered && { answers: [{ allowed: true, nowUs }] };
    return { process: {}, steps: [step], sentServerUs: nowUs, ...answered };
  };
  const calls = [
    call(0, 'take', 'bea'),
    call(1, 'done', 'bea', false),
    call(1_000_001, 'done', 'bea'),
    call(at, 'take', 'cy'),
  ];
  return { plan: { faults: [] }, restarts: [], executions: [], calls } as unknown as History;
}

it('an answer that is sent twice, because the first reply was lost, is kept from the first time on', () => {
  const law = LAWS['claimsExclude'];
  expect(law?.(takenAfterKept(10_000_001))).toBeUndefined();
  expect(law?.(takenAfterKept(10_000_000))).toMatch(/to cy while bea held it/);
});
