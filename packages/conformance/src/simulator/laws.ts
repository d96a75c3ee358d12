/** The laws that every history must keep. A law returns a sentence about a violation, or undefined if there is none. */

import type { Answer, Step } from '@spillway/core';
import type { DistinctRule, Rule } from '@spillway/core/store';
import { Oracle, type Verdict } from '../oracle.js';
import { FIELDS, seen } from '../probe.js';
import type { Call, History, Outcome } from './history.js';
import { lateCost, type Plan } from './plan.js';
import { isSamePeriod, SHARES, startOf } from './quotas.js';
import type { Process } from './world.js';

type Law = (history: History) => string | undefined;

type Answered = Call & { readonly answers: readonly Answer[] };

/** How wrong a process may be about a time, because of network delays, late timers, and clock drift over a minute. */
const TOLERANCE_US = 40_000;

/** The deadline of a store call, plus the time that a process needs before and after the call. */
const PATIENCE_US = 50_000 + 5_000;

const nameOf = ({ limiter, key, rule }: Step): string => `${limiter}/${key}/${rule.code}`;

/** The calls that were answered, in the order in which the store decided them. */
function decided({ calls, executions }: History): { call: Answered; order: number }[] {
  const places = new Map<string, number[]>();
  for (const [at, { process, serverUs }] of executions.entries()) {
    const name = `${process.name} ${serverUs}`;
    places.set(name, [...(places.get(name) ?? []), at]);
  }
  return calls
    .filter((call): call is Answered => (call.answers?.length ?? 0) > 0)
    .map((call) => {
      const [answer] = call.answers as [Answer];
      const known = places.get(`${call.process.name} ${answer.nowUs}`) ?? [];
      // If the clock was set back, two executions may have the same time.
      return { call, order: known.find((at) => at >= call.executionsBefore) ?? -1 };
    })
    .sort((a, b) => a.order - b.order);
}

/** Each answer carries the time at which the server executed the call, by the server's clock. */
const theStoresClockDecides: Law = (history) => {
  const stray = decided(history).find(({ order }) => order < 0);
  return stray && `an answer of ${stray.call.answers[0]?.nowUs}, when the server decided nothing`;
};

/** Steps that were applied to an oracle. After a restart, a new oracle replays those that the server kept. */
interface Applied {
  readonly order: number;
  readonly steps: readonly Step[];
  readonly nowUs: number;
}

function repeatsRequests({ faults }: Plan): boolean {
  return faults.some((fault) => fault.kind === 'weather' && fault.of === 'repeat');
}

/**
 * Every answer equals the oracle's answer, unless an earlier call about the same count got no answer. The law skips
 * histories in which the server's clock was changed or requests were repeated.
 */
const decidesExactly: Law = (history) => {
  const { restarts, calls, plan } = history;
  if (plan.faults.some(({ kind }) => kind === 'clock')) return undefined; // the server has dropped expired counts
  if (repeatsRequests(plan)) return undefined;
  let oracle = new Oracle();
  let applied: Applied[] = [];
  let next = 0;
  // The server may run a call without an answer at any time after it was sent.
  const lost = calls
    .filter(({ answers }) => !answers)
    .map((call) => ({ call, from: call.executionsBefore }));
  const unsure = new Set<string>();
  for (const { call, order } of decided(history)) {
    while ((restarts[next]?.executions ?? Number.POSITIVE_INFINITY) <= order) {
      const kept = restarts[next]?.kept ?? 0;
      applied = applied.filter((one) => one.order < kept);
      oracle = new Oracle();
      for (const { steps, nowUs } of applied) oracle.apply(steps, nowUs);
      next += 1;
    }
    for (let at = lost.length - 1; at >= 0; at -= 1) {
      const one = lost[at];
      if (!one || one.from > order) continue;
      for (const step of one.call.steps) unsure.add(nameOf(step));
      lost.splice(at, 1);
    }
    const { steps, answers } = call;
    const nowUs = answers[0]?.nowUs as number;
    const isRefused = steps.some(
      ({ op, binding }, at) => op === 'take' && binding && !answers[at]?.allowed,
    );
    const sure = steps.filter((step) => !unsure.has(nameOf(step)));
    if (sure.length === 0) continue;
    // If a count with an unknown state may have rejected the group, the steps that passed become looks. Rejected steps
    // stay, because they may start locks.
    const passed = (step: Step) => answers[steps.indexOf(step)]?.allowed;
    const asked =
      sure.length < steps.length && isRefused
        ? sure.map((step) => (passed(step) ? asLook(step) : step))
        : sure;
    const verdicts = oracle.apply(asked, nowUs);
    applied.push({ order, steps: asked, nowUs });
    for (const [at, step] of sure.entries()) {
      const answer = answers[steps.indexOf(step)] as Answer;
      const difference = differs(step, answer, verdicts[at] as Verdict);
      if (difference)
        return `${step.op} ${step.cost} of ${nameOf(step)} at ${nowUs}: ${difference}`;
    }
  }
  return undefined;
};

const asLook = (step: Step): Step => (step.op === 'take' ? { ...step, op: 'look' } : step);

function differs(step: Step, answer: Answer, verdict: Verdict): string | undefined {
  // With `overage`, the numbers of the declared limit differ from those of the rule.
  const { soft: _, ...rule } = step.rule;
  const got = seen(rule as Rule, answer, step.cost);
  const field = FIELDS.find((name) => !Object.is(got[name], verdict[name]));
  return field && `${field} is ${got[field]}, exactly ${verdict[field]}`;
}

interface Grant {
  readonly atUs: number;
  readonly order: number;
  readonly cost: number;
  readonly items?: readonly string[] | undefined;
}

/** In any interval, a limit admits no more than its rule says. The law counts only grants whose reply arrived. */
const admitsAtMostTheLimit: Law = (history) => {
  const { restarts, plan } = history;
  if (plan.faults.some(({ kind }) => kind === 'clock')) return undefined;
  const grants = new Map<string, { rule: Rule; all: Grant[] }>();
  for (const { call, order } of decided(history)) {
    const { steps, answers } = call;
    if (!steps.every(({ op, binding }, at) => op === 'take' && (!binding || answers[at]?.allowed)))
      continue;
    for (const [at, step] of steps.entries()) {
      if (!answers[at]?.allowed || step.lease || step.claim) continue;
      const known = grants.get(nameOf(step)) ?? { rule: step.rule, all: [] };
      grants.set(nameOf(step), known);
      if (step.rule.limit > known.rule.limit) known.rule = step.rule;
      const { cost, items } = step;
      known.all.push({ atUs: answers[at]?.nowUs as number, order, cost, items });
    }
  }
  const givenBack = new Set(
    history.calls.flatMap(({ steps }) => steps.filter(({ op }) => op === 'put').map(nameOf)),
  );
  // If the reply to a request was lost, it is unknown when its items began to count.
  const unknown = new Set(
    history.calls.flatMap(({ steps, answers }) => (answers ? [] : steps.map(nameOf))),
  );
  for (const [name, { rule, all }] of grants) {
    if (givenBack.has(name)) continue; // `decidesExactly` checks it
    if (rule.machine === 'distinct' && unknown.has(name)) continue;
    for (const some of sharingState(all, restarts)) {
      const excess = over(rule, some);
      if (excess) return `${name} admitted ${excess}`;
    }
  }
  return undefined;
};

/**
 * Groups of grants that were in the store at the same time. A restart loses the grants after the first `kept`
 * executions.
 */
function sharingState(grants: readonly Grant[], restarts: History['restarts']): Grant[][] {
  const groups: Grant[][] = [];
  let now = [...grants];
  for (const { executions, kept } of restarts) {
    groups.push(now.filter(({ order }) => order < executions));
    now = now.filter(({ order }) => order < kept || order >= executions);
  }
  return [...groups, now];
}

function over(rule: Rule, grants: readonly Grant[]): string | undefined {
  if (rule.machine === 'bucket') {
    let sum = 0;
    let least = Number.POSITIVE_INFINITY;
    const rate = rule.limit / rule.windowUs;
    const start = grants[0]?.atUs ?? 0;
    for (const { atUs, cost } of grants) {
      const refilled = rate * (atUs - start);
      least = Math.min(least, sum - refilled);
      sum += cost;
      const excess = sum - refilled - least - rule.burst;
      if (excess > 1e-6) return `${excess} units more than its burst and rate`;
    }
    return undefined;
  }
  if (rule.machine === 'distinct') return tooMany(rule, grants);
  if (rule.machine !== 'window' && rule.machine !== 'log') return undefined;
  const { windowUs, limit } = rule;
  // Counters are checked in fixed windows, logs in every sliding window.
  const isLog = rule.machine === 'log';
  for (const [at, { atUs }] of grants.entries()) {
    let sum = 0;
    for (let to = at; to >= 0; to -= 1) {
      const grant = grants[to] as Grant;
      const isWithin = isLog
        ? grant.atUs > atUs - windowUs
        : Math.floor(grant.atUs / windowUs) === Math.floor(atUs / windowUs);
      if (!isWithin) break;
      sum += grant.cost;
    }
    if (sum > limit) return `${sum} of ${limit} in one window`;
  }
  return undefined;
}

/** Finds a window with more distinct items than the limit. An item counts for one window after it was added. */
function tooMany(
  { limit, windowUs }: Pick<DistinctRule, 'limit' | 'windowUs'>,
  grants: readonly Grant[],
): string | undefined {
  const addedUs = new Map<string, number>();
  for (const { atUs, items = [] } of grants) {
    for (const item of items) {
      if ((addedUs.get(item) ?? Number.NEGATIVE_INFINITY) <= atUs - windowUs)
        addedUs.set(item, atUs);
    }
    const count = [...addedUs.values()].filter((addUs) => addUs > atUs - windowUs).length;
    if (count > limit) return `${count} different items of ${limit} in one window`;
  }
  return undefined;
}

/** Algorithms whose `retryAfter` is right unless refunds, changes of the limit or other takes intervene. */
const PROMISE: ReadonlySet<string> = new Set(['bucket', 'window', 'log', 'lock']);

/** Without other traffic, a caller is admitted after the promised wait, and not earlier. */
const waitsAreHonest: Law = (history) => {
  const { plan, restarts } = history;
  if (plan.faults.length > 0 || restarts.length > 0) return undefined;
  const told = new Map<string, { cost: number; limit: number; dueUs: number }>();
  for (const { call } of decided(history)) {
    for (const [at, step] of call.steps.entries()) {
      const answer = call.answers[at] as Answer;
      const { machine } = step.rule;
      if (!PROMISE.has(machine)) continue;
      const name = nameOf(step);
      const before = told.get(name);
      const { limit } = step.rule;
      // After a change of the limit, earlier waits are no longer right.
      if (before?.limit === limit && step.op === 'take' && step.cost === before.cost) {
        const isDue = answer.nowUs >= before.dueUs;
        if (answer.allowed !== isDue) {
          return `${name} ${answer.allowed ? 'admitted' : 'rejected'} ${step.cost} at ${answer.nowUs}, promised for ${before.dueUs}`;
        }
      }
      const isSingle = call.steps.length === 1;
      if (step.op === 'look') continue;
      told.delete(name);
      if (step.op !== 'take' || answer.allowed || !isSingle) continue;
      const { retryAfterMs } = seen(step.rule, answer, step.cost);
      if (!Number.isFinite(retryAfterMs)) continue;
      told.set(name, {
        cost: step.cost,
        limit,
        dueUs: answer.nowUs + Math.round(retryAfterMs * 1_000),
      });
    }
  }
  return undefined;
};

/** The denial cache rejects only what the store has rejected and would still reject. */
const cachedRejectionsAreTrue: Law = ({ plan, calls, outcomes }) => {
  if (plan.faults.length > 0) return undefined;
  const asked = new Set(calls.map(({ act }) => act));
  for (const { act, process, decisions = [], allowed, startUs, startServerUs } of outcomes) {
    const asks = plan.acts[act];
    if (asks?.kind !== 'consume' || allowed || asked.has(act)) continue;
    for (const { limiter, outcome, cost, retryAfterMs, reason } of decisions) {
      if (outcome !== 'denied' || reason !== 'rate') continue;
      const { key } = asks;
      // A reply that arrives in the microsecond in which the request begins counts as known.
      const own = calls.filter(
        ({ process: by, endUs = Number.POSITIVE_INFINITY }) => by === process && endUs <= startUs,
      );
      const about = (step: Step): boolean => step.limiter === limiter && step.key === key;
      // Refunds by this process may have freed units since the store rejected.
      const givenBackUs = own
        .filter(({ steps }) => steps.some((step) => step.op === 'put' && about(step)))
        .reduce((latest, { endUs = 0 }) => Math.max(latest, endUs), 0);
      const isTrue = own.some(({ steps, answers, sentUs }) =>
        steps.some((step, at) => {
          const answer = answers?.[at];
          if (!answer || answer.allowed || !about(step) || sentUs < givenBackUs) return false;
          const { retryAfterMs: told } = seen(step.rule, answer, cost);
          const dueUs = answer.nowUs + told * 1_000;
          const claimedUs = startServerUs + retryAfterMs * 1_000;
          return (
            step.cost <= cost &&
            dueUs > startServerUs - TOLERANCE_US &&
            claimedUs < dueUs + TOLERANCE_US
          );
        }),
      );
      if (!isTrue) return `${limiter}/${key} was rejected from the cache, against the store`;
    }
  }
  return undefined;
};

function startsLock({ op, rule }: Step, answer: Answer | undefined): boolean {
  if (op !== 'take' || rule.machine !== 'lock' || !answer || !('untilUs' in answer)) return false;
  return rule.locksUs.includes(answer.untilUs - answer.nowUs);
}

/** A script call that rejects everything writes nothing, except to start a lock. */
const rejectionsWriteNothing: Law = (history) => {
  const { plan, executions } = history;
  if (plan.faults.length > 0) return undefined;
  const byOrder = new Map<number, Answered[]>();
  for (const { call, order } of decided(history))
    byOrder.set(order, [...(byOrder.get(order) ?? []), call]);
  for (const [order, calls] of byOrder) {
    const isRejected = calls.every(
      ({ steps, answers }) =>
        steps.every(({ op }) => op === 'take' || op === 'look') &&
        steps.some(({ binding, op }, at) => binding && op === 'take' && !answers[at]?.allowed),
    );
    const locks = calls.flatMap(({ steps, answers }) =>
      steps.filter((step, at) => startsLock(step, answers[at])),
    ).length;
    const writes = (executions[order]?.writes ?? 0) - locks;
    if (isRejected && writes > 0) return `${writes} writes, where everything was rejected`;
  }
  return undefined;
};

const refundsWorkOnce: Law = ({ outcomes }) => {
  const one = outcomes.find(({ refunds = 0 }) => refunds > 1);
  return one && `one charge was given back ${one.refunds} times`;
};

function frozenUs({ plan }: History, { process, startUs, endUs }: Outcome): number {
  return plan.faults.reduce((sum, fault) => {
    if (fault.kind !== 'freeze' || process.name !== `p${fault.process}`) return sum;
    const from = Math.max(fault.atUs, startUs);
    return sum + Math.max(0, Math.min(fault.atUs + fault.forUs, endUs ?? 0) - from);
  }, 0);
}

/** Whatever fails, every decision arrives within the deadline, and none throws. */
const failuresFailNobody: Law = (history) => {
  for (const outcome of history.outcomes) {
    const { act, process, startUs, endUs, error } = outcome;
    const { kind } = history.plan.acts[act] ?? {};
    if (kind === 'job' || kind === 'pause' || kind === 'once' || kind === 'change') continue;
    if (error !== undefined) return `${kind} threw ${String(error)}`;
    if (process.isDead) continue;
    const tookUs = (endUs ?? Number.POSITIVE_INFINITY) - startUs - frozenUs(history, outcome);
    const calls = kind === 'refund' ? 2 : 1;
    if (tookUs > PATIENCE_US * calls) return `${kind} took ${tookUs} us`;
  }
  return undefined;
};

const calmMeansNoErrors: Law = ({ plan, outcomes, calls }) => {
  if (plan.faults.length > 0) return undefined;
  const failed = calls.find(({ error }) => error !== undefined);
  if (failed) return `a call failed with ${String(failed.error)}`;
  const one = outcomes.find(({ decisions = [] }) =>
    decisions.some(({ outcome }) => outcome === 'error'),
  );
  return one && `act ${one.act} was answered by the fallback`;
};

/** In an outage, requests soon stop waiting for the store. */
const outagesCostNoTime: Law = ({ plan, outcomes }) => {
  if (plan.faults.some(({ kind }) => kind === 'freeze')) return undefined;
  for (const fault of plan.faults) {
    if (fault.kind !== 'hang' || fault.forUs < 1_500_000) continue;
    const waited = new Map<string, number>();
    for (const { act, process, startUs, endUs = startUs } of outcomes) {
      if (plan.acts[act]?.kind !== 'consume' || endUs - startUs < 45_000) continue;
      // Concurrent requests wait together, so count the times at which requests began to wait.
      if (startUs < fault.atUs + 200_000 || endUs > fault.atUs + fault.forUs) continue;
      waited.set(`${process.name} ${Math.floor(startUs / 50_000)}`, 1);
    }
    const perProcess = waited.size / plan.clocks.length;
    if (perProcess > 7) return `requests waited at ${perProcess} moments of one outage`;
  }
  return undefined;
};

/** A flapping server must stay healthy for at least this long before it is used again. */
const WELL_US = 400_000;

/** A flapping server is used again only after it has been healthy for a while. Each bad answer restarts the wait. */
const usedWhenWell: Law = ({ plan, calls, processes }) => {
  if (plan.faults.some(({ kind }) => kind === 'freeze' || kind === 'clock')) return undefined;
  for (const process of processes) {
    let wellUs: number | undefined;
    let [wasWell, isIllAgain, lastUs] = [false, false, 0];
    const own = calls.filter((one) => one.process === process);
    for (const { steps, act, answers, sentUs, endUs = Number.POSITIVE_INFINITY } of own) {
      const isProbe = steps[0]?.limiter === '\u0001probe';
      if (isProbe) {
        // A process may judge a slow answer as good or bad, so slow answers are ignored here.
        const isSlow = answers && endUs - sentUs >= 2_000;
        if (!isSlow) wellUs = answers ? (wellUs ?? endUs) : undefined;
        isIllAgain ||= wasWell && wellUs === undefined;
        wasWell ||= wellUs !== undefined;
        lastUs = endUs;
      } else {
        const forUs = lastUs - (wellUs ?? Number.NEGATIVE_INFINITY);
        // Decisions that a process can't make alone still call a slow store.
        const isOwn = act !== undefined && plan.onStoreError === 'local' && !isQueue(steps);
        if (isOwn && isIllAgain && sentUs > lastUs && forUs < WELL_US / 2) {
          return `a server that was well for ${forUs} us was used again`;
        }
        [wellUs, wasWell, isIllAgain] = [undefined, false, false];
      }
    }
  }
  return undefined;
};

const isQueue = ([step]: readonly Step[]): boolean => step?.rule.machine === 'queue';

const itRecovers: Law = ({ recovered }) =>
  recovered ? undefined : 'the store is back, and is not used';

/** While holders renew their leases, a permit beyond the limit goes only to a critical request. */
const permitsAreCounted: Law = (history) => {
  const { plan, restarts, calls } = history;
  if (plan.faults.some(({ kind }) => kind === 'clock')) return undefined;
  if (restarts.some(({ executions, kept }) => kept < executions)) return undefined;
  const held = new Map<string, { count: string; rule: Rule; critical: boolean; spans: Span[] }>();
  for (const { call } of decided(history)) {
    for (const [at, step] of call.steps.entries()) {
      const { lease, rule, op } = step;
      const isGranted = call.steps.every(
        (one, i) => one.op !== 'take' || !one.binding || call.answers[i]?.allowed,
      );
      if (!lease || rule.machine !== 'leases' || !call.answers[at]?.allowed) continue;
      const nowUs = call.answers[at]?.nowUs as number;
      const name = `${nameOf(step)} ${lease.id}`;
      const known = held.get(name);
      if (op === 'take' && isGranted) {
        held.set(name, {
          count: nameOf(step),
          rule,
          critical: lease.critical,
          spans: [[nowUs, nowUs + rule.leaseUs]],
        });
      } else if (op === 'record' && known) known.spans.push([nowUs, nowUs + rule.leaseUs]);
    }
  }
  // A permit counts as released once its release was sent.
  for (const call of calls) {
    for (const step of call.steps) {
      if (step.op !== 'put' || !step.lease) continue;
      const known = held.get(`${nameOf(step)} ${step.lease.id}`);
      if (!known) continue;
      known.spans = known.spans
        .filter(([from]) => from < call.sentServerUs)
        .map(([from, to]) => [from, Math.min(to, call.sentServerUs)]);
    }
  }
  const edges = new Map<string, { atUs: number; by: number; rule: Rule; critical: boolean }[]>();
  for (const { count, rule, critical, spans } of held.values()) {
    const list = edges.get(count) ?? [];
    edges.set(count, list);
    for (const [from, to] of joined(spans)) {
      list.push({ atUs: from, by: 1, rule, critical }, { atUs: to, by: -1, rule, critical });
    }
  }
  for (const [count, list] of edges) {
    let ordinary = 0;
    let all = 0;
    list.sort((a, b) => a.atUs - b.atUs || a.by - b.by);
    for (const { by, rule, critical } of list) {
      all += by;
      if (!critical) ordinary += by;
      if (rule.machine !== 'leases' || by < 0 || critical) continue;
      if (ordinary > rule.open) return `${ordinary} hold one of ${rule.open} permits of ${count}`;
      if (all > rule.limit) return `${all} hold one of ${rule.limit} permits of ${count}`;
    }
  }
  return undefined;
};

function joined(spans: readonly Span[]): Span[] {
  const all: Span[] = [];
  for (const [from, to] of [...spans].sort(([a], [b]) => a - b)) {
    const last = all.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else all.push([from, to]);
  }
  return all;
}

/**
 * In an outage, a process rejects a request for lack of permits only while the process itself holds all permits of the
 * key.
 */
const fallbackKnowsReleases: Law = ({ plan, outcomes, calls }) => {
  if (plan.onStoreError !== 'local') return undefined;
  if (plan.faults.some(({ kind }) => kind === 'freeze' || kind === 'clock')) return undefined;
  const decidedByStore = new Set(calls.filter(({ answers }) => answers).map(({ act }) => act));
  const requests = outcomes.flatMap((outcome) => {
    const act = plan.acts[outcome.act];
    return act?.kind === 'request' ? [{ ...act, ...outcome }] : [];
  });
  for (const { act, key, process, decisions = [], startUs, endUs = startUs } of requests) {
    const permits = decisions.find(({ limiter }) => limiter === 'permits');
    if (!permits || permits.allowed || decidedByStore.has(act)) continue;
    const held = requests.filter((other) => {
      if (!other.allowed || other.key !== key || other.process !== process) return false;
      const fromUs = other.endUs ?? 0;
      return fromUs <= endUs && fromUs + other.holdUs >= startUs;
    });
    if (held.length < plan.permits) {
      return `a request was rejected for lack of permits, with ${held.length} of ${plan.permits} held`;
    }
  }
  return undefined;
};

/** Idempotency: the call that ends a claim is sent again until the store answers it, for at most ten lease times. */
const endsArrive: Law = ({ plan, calls, runs }) => {
  if (plan.faults.some(({ kind }) => kind === 'freeze' || kind === 'clock')) return undefined;
  const wellUs = Math.max(0, ...plan.faults.map(endOf));
  // A retry is due after a third of a lease, or once a probe has found the store healthy.
  const dueUs = wellUs + plan.leaseMs * 400 + 500_000;
  if ((calls.at(-1)?.sentUs ?? 0) < dueUs) return undefined;
  // If the reply to a renewal says that the server has lost the claim, the end of the request is sent only once.
  const arrived = new Set(
    calls.flatMap(({ steps, answers }) =>
      steps.flatMap(({ op, claim }, at) => {
        const answer = answers?.[at];
        const isOver = op === 'done' || op === 'put' || (op === 'record' && !answer?.allowed);
        return claim && answer && isOver ? [claim.owner] : [];
      }),
    ),
  );
  for (const [owner, { id, process, endUs, status }] of runsByOwner(calls, runs)) {
    if (endUs === undefined || status === 503 || process.isDead || arrived.has(owner)) continue;
    if (endUs + 10_000 * plan.leaseMs < dueUs) continue;
    return `the end of ${id} never arrived, though the store was well from ${wellUs} us on`;
  }
  return undefined;
};

/** Idempotency: while a request runs, its process keeps the claim, even when the process closes. */
const claimsStay: Law = ({ calls, runs }) => {
  const byOwner = runsByOwner(calls, runs);
  for (const { steps, sentUs } of calls) {
    for (const { op, claim } of steps) {
      const run = claim && byOwner.get(claim.owner);
      if (op !== 'put' || !run || sentUs < run.startUs) continue;
      if (sentUs < (run.endUs ?? Number.POSITIVE_INFINITY))
        return `the claim of ${run.id} was given up while it ran`;
    }
  }
  return undefined;
};

function runsByOwner(
  calls: readonly Call[],
  runs: History['runs'],
): Map<string, History['runs'][number]> {
  const taken = calls.flatMap(({ process, steps, answers, endUs = Number.POSITIVE_INFINITY }) =>
    steps.flatMap(({ op, claim }, at) =>
      claim && op === 'take' && answers?.[at]?.allowed ? [{ ...claim, process, endUs }] : [],
    ),
  );
  return new Map(
    runs.flatMap((run) => {
      const { id, process, startUs } = run;
      const claim = taken.findLast(
        (one) => one.id === id && one.process === process && one.endUs <= startUs,
      );
      return claim ? [[claim.owner, run] as const] : [];
    }),
  );
}

/**
 * Returns the time at which the last effect of a fault has passed. Messages that a fault delays can arrive after its
 * end.
 */
function endOf(fault: Plan['faults'][number]): number {
  const forUs = 'forUs' in fault ? fault.forUs : 0;
  return fault.atUs + forUs + (fault.kind === 'weather' ? 2_500_000 : 200_000);
}

/** Without faults, no permit expires before it is released, because its process renews it. */
const permitsLast: Law = (history) => {
  if (history.plan.faults.length > 0) return undefined;
  const ends = new Map<string, number>();
  for (const { call } of decided(history)) {
    for (const [at, { lease, rule, op }] of call.steps.entries()) {
      if (!lease || rule.machine !== 'leases') continue;
      const nowUs = call.answers[at]?.nowUs as number;
      const endUs = ends.get(lease.id);
      if (op !== 'take' && endUs !== undefined && nowUs > endUs) {
        return `${nameOf({ ...call.steps[at] } as Step)} was lost ${nowUs - endUs} us before ${op}`;
      }
      if (op === 'put') ends.delete(lease.id);
      const isHeld = op === 'take' ? takes(call) : op === 'record' && endUs !== undefined;
      if (isHeld && call.answers[at]?.allowed) ends.set(lease.id, nowUs + rule.leaseUs);
    }
  }
  return undefined;
};

function takes({ steps, answers }: Answered): boolean {
  return steps.every(({ op, binding }, at) => op !== 'take' || !binding || answers[at]?.allowed);
}

/**
 * Each permit has a new lease id, and each claim a new owner. One exception: a process that books the next free permit
 * renews the booking by further takes with the same id, until it gives the permit back.
 */
const namesAreNew: Law = ({ calls }) => {
  const owners = new Map<string, Process | undefined>();
  for (const { steps, process } of calls) {
    for (const step of steps) {
      const own = step.lease?.id ?? step.claim?.owner;
      if (own === undefined) continue;
      const name = `${step.limiter} ${step.rule.code} ${own}`;
      if (step.op === 'take') {
        const isRenewed = step.lease !== undefined && owners.get(name) === process;
        if (owners.has(name) && !isRenewed) return `two of ${step.limiter} are named ${own}`;
        owners.set(name, process);
      } else if (step.op === 'put') owners.set(name, undefined);
    }
  }
  return undefined;
};

/**
 * How many timers a process may have besides those of its work: for polling settings, measuring its load, and checking
 * its store.
 */
const IDLE_TIMERS = 12;

/** All stored keys expire, and a process has no more timers than its work in flight needs. */
const nothingStays: Law = ({ calls, keysAtEnd, processes, outcomes, plan }) => {
  if (keysAtEnd > 0) return `${keysAtEnd} keys never expire`;
  const hasFaults = plan.faults.length > 0;
  // After faults, calls that failed at different times are retried at the same time. With quotas, observers work in the
  // background.
  const isCalm = !hasFaults && !plan.quota;
  // A failed release may be pending for a second before the process gives it up.
  const afterwardsUs = hasFaults ? 1_200_000 : 10_000;
  for (const process of processes) {
    const requests = outcomes
      .filter((one) => one.process === process)
      .map(({ startUs, endUs = Infinity }): Span => [startUs, endUs + afterwardsUs]);
    const releases = releasesOf(process, calls);
    const [most, mostReleases] = isCalm ? [] : [mostAtOnce(requests), mostAtOnce(releases)];
    for (const { atUs, timers } of process.manyTimers) {
      const open = most ?? openAt(requests, atUs);
      const released = mostReleases ?? openAt(releases, atUs);
      if (timers > (isCalm ? IDLE_TIMERS : 30) + 2 * open + released) {
        return `${timers} timers were set for ${open} requests at ${atUs}`;
      }
    }
    if (!process.isDead && process.timers > IDLE_TIMERS) return `${process.timers} timers stay`;
  }
  return undefined;
};

/**
 * For each permit that the process released, the span from the first release call to the reply to the last one. Spans
 * may overlap.
 */
function releasesOf(process: Process, calls: readonly Call[]): readonly Span[] {
  const spans = new Map<string, Span>();
  for (const { process: own, steps, sentUs, endUs = sentUs } of calls) {
    const { op, lease } = steps[0] as Step;
    if (own !== process || op !== 'put' || !lease) continue;
    const [fromUs] = spans.get(lease.id) ?? [sentUs];
    spans.set(lease.id, [fromUs, Math.max(fromUs, endUs)]);
  }
  return [...spans.values()];
}

type Span = [fromUs: number, toUs: number];

function openAt(spans: readonly Span[], us: number): number {
  return spans.filter(([fromUs, toUs]) => fromUs <= us && us <= toUs).length;
}

function mostAtOnce(spans: readonly Span[]): number {
  const edges = spans
    .flatMap(([fromUs, toUs]) => [
      { atUs: fromUs, by: 1 },
      { atUs: toUs, by: -1 },
    ])
    .sort((a, b) => a.atUs - b.atUs);
  let [now, most] = [0, 0];
  for (const { by } of edges) {
    now += by;
    most = Math.max(most, now);
  }
  return most;
}

const shadowsRejectNobody: Law = ({ plan, outcomes }) => {
  const shadows = new Set(
    plan.rates.filter(({ mode }) => mode === 'shadow').map(({ name }) => name),
  );
  for (const { decisions = [] } of outcomes) {
    const one = decisions.find(({ limiter, allowed }) => shadows.has(limiter) && !allowed);
    if (one) return `${one.limiter} is in shadow, and rejected`;
    const enforced = decisions.find(
      ({ limiter, outcome }) => !shadows.has(limiter) && outcome === 'would-deny',
    );
    if (enforced) return `${enforced.limiter} enforces, and would only have denied`;
  }
  return undefined;
};

/**
 * In an outage, a process admits no more units of a key than the limit, including units that it admitted before. After
 * the outage the count starts anew, because the store does not know the grants of the fallback.
 */
const fallbackIsBounded: Law = ({ plan, outcomes }) => {
  if (plan.onStoreError !== 'local' || plan.faults.some(({ kind }) => kind === 'clock')) {
    return undefined;
  }
  if (plan.acts.some(({ kind }) => kind === 'refund' || kind === 'change')) return undefined;
  for (const [
    at,
    { algorithm, mode, limit, windowMs, burst = limit, name },
  ] of plan.rates.entries()) {
    if ((algorithm !== 'tokenBucket' && algorithm !== 'slidingLog') || mode === 'shadow') continue;
    const admitted = new Map<string, { process: object; grants: Grant[]; failed: boolean }[]>();
    const hasLost = (fromUs: number, toUs: number): boolean =>
      plan.faults.some(
        (one) =>
          one.kind === 'restart' && one.keeps !== 'all' && one.atUs >= fromUs && one.atUs < toUs,
      );
    const ended = outcomes.filter(({ allowed, endUs }) => allowed && endUs !== undefined);
    for (const { act, process, decisions = [], endUs = 0 } of ended.sort(byEnd)) {
      const asked = plan.acts[act];
      if (asked?.kind !== 'consume') continue;
      const decision = decisions[asked.asks.indexOf(at)];
      if (!decision) continue;
      const all = admitted.get(asked.key) ?? [];
      admitted.set(asked.key, all);
      const own = all.findLast((one) => one.process === process);
      const isLocal = decision.outcome === 'error';
      // A new count begins when the store answers again after an outage, or when it has lost its data.
      const lastUs = own?.grants.at(-1)?.atUs ?? 0;
      const isNew = !own || (!isLocal && (own.failed || hasLost(lastUs, endUs)));
      const count = isNew ? { process, grants: [], failed: false } : own;
      if (isNew) all.push(count);
      count.failed ||= isLocal;
      count.grants.push({ atUs: endUs, order: 0, cost: asked.cost });
    }
    const slack = Math.ceil((limit * 2 * PATIENCE_US) / (windowMs * 1_000));
    const windowUs = windowMs * 1_000;
    const rule =
      algorithm === 'slidingLog'
        ? { machine: 'log', limit, windowUs: windowUs - 2 * PATIENCE_US }
        : { machine: 'bucket', limit, windowUs, burst: burst + slack };
    for (const { grants } of [...admitted.values()].flat().filter(({ failed }) => failed)) {
      const excess = over(rule as Rule, grants);
      if (excess) return `one process admitted ${excess} of ${name} in an outage`;
    }
  }
  return undefined;
};

/**
 * In an outage, a rate limit rejects a request only if the request's key may have too few units left. The law counts
 * the units that all processes used in the whole history, so it finds only clear violations.
 */
const fallbackRejectsForAReason: Law = ({ plan, outcomes, calls }) => {
  if (plan.onStoreError !== 'local' || plan.faults.some(({ kind }) => kind === 'clock')) {
    return undefined;
  }
  if (plan.acts.some(({ kind }) => kind === 'change')) return undefined;
  const used = new Map<string, number>();
  const add = (limiter: string, key: string, units: number): void => {
    const name = `${limiter}/${key}`;
    used.set(name, (used.get(name) ?? 0) + units);
  };
  for (const { steps, answers } of calls) {
    const isRejected = steps.some(
      ({ op, binding }, at) => op === 'take' && binding && answers && !answers[at]?.allowed,
    );
    for (const { op, limiter, key, cost } of steps) {
      if (op === 'record' || (op === 'take' && !isRejected)) add(limiter, key, cost);
    }
  }
  // Outcomes don't say whether the retry of a rejected request was admitted, so each retry is counted.
  for (const [act, asked] of plan.acts.entries()) {
    if (!('asks' in asked) || asked.again === undefined) continue;
    const call = calls.find((one) => one.act === act);
    if (!call?.answers?.some(({ allowed }) => !allowed)) continue;
    for (const rate of asked.asks) add(plan.rates[rate]?.name as string, asked.key, asked.cost);
  }
  for (const { act, decisions = [], allowed } of outcomes) {
    const asked = plan.acts[act];
    if (asked?.kind !== 'consume' || !allowed) continue;
    for (const { limiter, outcome } of decisions) {
      if (outcome === 'error') add(limiter, asked.key, asked.cost);
      const rate = plan.rates.find(({ name }) => name === limiter);
      // The fallback also counts what limits with debt charge after the work.
      if (rate?.debt !== undefined) add(limiter, asked.key, lateCost(asked.cost, act));
    }
  }
  for (const { act, decisions = [] } of outcomes) {
    const asked = plan.acts[act];
    if (asked?.kind !== 'consume') continue;
    for (const { limiter, outcome, allowed, reason } of decisions) {
      const rate = plan.rates.find(({ name }) => name === limiter);
      if (!rate || rate.algorithm === 'distinct' || rate.locksMs || allowed) continue;
      if (outcome !== 'error' || reason !== 'rate') continue;
      const most = rate.algorithm === 'tokenBucket' ? (rate.burst ?? rate.limit) : rate.limit;
      const units = used.get(`${limiter}/${asked.key}`) ?? 0;
      if (units + asked.cost <= most) {
        return `the fallback rejected ${asked.cost} of ${limiter}/${asked.key}, with ${units} of ${most} units used`;
      }
    }
  }
  return undefined;
};

/**
 * Every unit spent is charged, forgiven or counted as lost, and nothing else is charged. If a reply was lost, it is
 * unknown whether the store charged.
 */
const spendingIsCharged: Law = (history) => {
  const { plan, spent, calls, restarts, outcomes, units } = history;
  if (!plan.spend || !spent || plan.faults.some(({ kind }) => kind === 'clock')) return undefined;
  if (repeatsRequests(plan)) return undefined; // each charge may be made twice
  if (restarts.some(({ executions, kept }) => kept < executions)) return undefined;
  let [least, most, unknown] = [0, 0, 0];
  for (const outcome of outcomes) {
    const bounds = spendingOf(history, outcome);
    least += bounds.least;
    most += bounds.most;
  }
  for (const { steps, answers, sentUs, endUs = sentUs } of calls) {
    // Without a reply in time, the caller doesn't know whether the call charged, and may charge again.
    const isHeard = answers?.every(({ failure }) => !failure) && endUs - sentUs < PATIENCE_US / 2;
    for (const { limiter, key, cost } of isHeard ? [] : steps) {
      if (limiter === 'spend' && spent.has(key)) unknown += cost;
    }
  }
  const uncharged = units
    .filter(({ kind }) => kind === 'forgiven' || kind === 'lost')
    .reduce((sum, one) => sum + one.units, 0);
  const used = [...spent.values()].reduce((sum, one) => sum + one, 0);
  const refilled = spent.size * refillOf(plan.spend.limit, calls);
  if (used + uncharged + refilled < least)
    return `${least} units were spent, and ${used} are charged, ${uncharged} forgiven or lost`;
  if (used > most + unknown)
    return `${used} units are charged, where ${most} were spent, and ${unknown} perhaps`;
  return undefined;
};

function refillOf(limit: number, calls: readonly Call[]): number {
  return 1 + (limit * (calls.at(-1)?.sentUs ?? 0)) / 86_400_000_000;
}

/**
 * If only one request uses a key, the key is charged exactly the cost of that request, but at most the limit plus the
 * limit's debt. The units of a lost call may be missing or be charged twice.
 */
const aloneIsChargedExactly: Law = (history) => {
  const { plan, spent, outcomes, calls, restarts, units } = history;
  if (!plan.spend || !spent || plan.faults.some(({ kind }) => kind === 'clock')) return undefined;
  if (restarts.some(({ executions, kept }) => kept < executions)) return undefined;
  if (repeatsRequests(plan)) return undefined;
  const keys = plan.acts.map((act) => (act.kind === 'spend' ? act.key : undefined));
  for (const outcome of outcomes) {
    const { act: at, process, decisions = [] } = outcome;
    const act = plan.acts[at];
    if (act?.kind !== 'spend' || decisions.some((one) => one.outcome === 'error')) continue;
    if (keys.indexOf(act.key) !== keys.lastIndexOf(act.key)) continue;
    const used = spent.get(act.key) ?? 0;
    const { least, most } = spendingOf(history, outcome);
    const full = plan.spend.limit + plan.spend.debt;
    const lost = units
      .filter((one) => one.process === process && one.kind === 'lost')
      .reduce((sum, one) => sum + one.units, 0);
    const perhaps = unheard(calls, act.key);
    if (
      used > Math.min(most, full) + perhaps ||
      used < Math.min(least, full) - lost - refillOf(plan.spend.limit, calls)
    ) {
      return `${act.key} is charged ${used} units, and has spent ${least} to ${most}; lost: ${lost}; perhaps charged: ${perhaps}`;
    }
  }
  return undefined;
};

/** The units of a key's calls that got no reply in time. It is unknown whether these units were charged. */
function unheard(calls: readonly Call[], key: string): number {
  return calls
    .filter(({ answers, sentUs, endUs = Infinity }) => !answers || endUs - sentUs > PATIENCE_US / 2)
    .flatMap(({ steps }) => steps)
    .filter(({ limiter, key: own, op }) => limiter === 'spend' && own === key && op !== 'look')
    .reduce((sum, { cost }) => sum + cost, 0);
}

const chargesAreSentTwice: Law = ({ plan, calls }) => {
  const keys = plan.acts.map((act) => (act.kind === 'spend' ? act.key : undefined));
  for (const act of plan.acts) {
    if (act.kind !== 'spend' || keys.indexOf(act.key) !== keys.lastIndexOf(act.key)) continue;
    const sent = new Map<number, number>();
    for (const { steps, error } of calls) {
      for (const { op, key, limiter, cost } of isUnsent(error) ? [] : steps) {
        if (op !== 'record' || limiter !== 'spend' || key !== act.key) continue;
        sent.set(cost, (sent.get(cost) ?? 0) + 1);
      }
    }
    for (const [cost, count] of sent) {
      // Several additions may have this cost. The reservation pays for a part of the first addition, whose cost is then
      // lower.
      const { adds, reserve } = act;
      const most = 2 * (1 + adds.filter((units) => [0, reserve].includes(units - cost)).length);
      if (count > most) return `a charge of ${cost} for ${act.key} was sent ${count} times`;
    }
  }
  return undefined;
};

function isUnsent(error: unknown): boolean {
  const failure = (error ?? {}) as { kind?: string; code?: string };
  const { kind, code } = failure;
  return kind === 'unsent' || (code === 'SPW_STORE_UNAVAILABLE' && !('cause' in failure));
}

/** Within a second, only a few calls release the same permit, even if many of its renewals fail. */
const releasesAreFew: Law = ({ calls }) => {
  const spans = new Map<string, Span[]>();
  for (const { process, steps, sentUs } of calls) {
    for (const { op, lease } of steps) {
      if (op !== 'put' || !lease) continue;
      const name = `${process.name} ${lease.id}`;
      spans.set(name, [...(spans.get(name) ?? []), [sentUs, sentUs + RETRY_US]]);
    }
  }
  for (const [name, own] of spans) {
    const most = mostAtOnce(own);
    if (most > MOST_RELEASES) return `${most} calls within a second release the permit ${name}`;
  }
  return undefined;
};

/** A release without an answer is sent again after a second. */
const RETRY_US = 1_000_000;

/**
 * Within a second, at most this many calls release a permit: the first call, another if a renewal overtook it, and a
 * retry of each.
 */
const MOST_RELEASES = 4;

/** While a request runs, at least its reservation is charged, or its final cost if that is less. */
const reservationsStay: Law = (history) => {
  const { plan, outcomes } = history;
  if (plan.faults.length > 0 || !plan.spend) return undefined;
  const admitted = new Map(outcomes.map((outcome) => [outcome.act, spendingOf(history, outcome)]));
  const least = new Map<string, number>();
  let forgiven = 0;
  for (const { call } of decided(history)) {
    for (const [at, { limiter, key, op, rule }] of call.steps.entries()) {
      const answer = call.answers[at] as Answer;
      if (limiter !== 'spend') continue;
      forgiven += answer.forgiven ?? 0;
      if (op === 'take' && call.act !== undefined) {
        least.set(key, (least.get(key) ?? 0) + (admitted.get(call.act)?.held ?? 0));
      }
      const { used } = seen(rule, answer, 0);
      const needed = (least.get(key) ?? 0) - forgiven - 1 - plan.spend.limit / (24 * 60);
      if (used < needed) return `${used} units of ${key} are charged, where ${needed} are reserved`;
    }
  }
  return undefined;
};

/** The least and the most units that a request may be charged, and the least units charged while it runs (`held`). */
function spendingOf(
  { plan }: History,
  { act, process, decisions = [], added = 0, hasEnded = false }: Outcome,
): { least: number; most: number; held: number } {
  const asked = plan.acts[act];
  const decision = decisions.find(({ limiter }) => limiter === 'spend');
  if (asked?.kind !== 'spend' || !decision || !decisions.every(({ allowed }) => allowed)) {
    return { least: 0, most: 0, held: 0 };
  }
  const { usage, isCut } = asked;
  // By default at most half of the limit is reserved.
  const reserved = Math.min(asked.reserve, (plan.spend?.limit ?? 0) / 2);
  const owed = isCut && plan.spend?.isPartial ? added : Math.max(reserved, added);
  const units = usage ?? owed;
  // A request that the fallback admitted may stay uncharged.
  if (decision.outcome === 'error') return { least: 0, most: Math.max(added, units), held: 0 };
  const held = Math.min(reserved, units, owed);
  if (hasEnded && !process.isDead) return { least: units, most: units, held };
  // It is unknown how many of its units a killed process had charged.
  return { least: held, most: Math.max(reserved, added, units), held };
}

const byEnd = (one: Outcome, other: Outcome): number => (one.endUs ?? 0) - (other.endUs ?? 0);

/**
 * Whether a step counts requests by calendar. If a billing step has no period, it comes from `restoreFrom` and counts
 * no request.
 */
function isOfQuota({ limiter, rule, period }: Step): boolean {
  if (limiter !== 'quota' || rule.machine !== 'calendar') return false;
  return period !== undefined || rule.calendar.name !== 'billing';
}

interface Used extends Grant {
  readonly startUs: number;
}

/**
 * Quotas: each period admits at most the limit, whatever the clocks show. Once a period has admitted a request, no
 * request counts in an earlier period.
 */
const quotasHold: Law = (history) => {
  const { plan, restarts } = history;
  if (!plan.quota || plan.quota.isSoft) return undefined;
  const grants = new Map<string, Used[]>();
  for (const { call, order } of decided(history)) {
    for (const [at, step] of call.steps.entries()) {
      const answer = call.answers[at] as Answer;
      if (!isOfQuota(step) || step.op !== 'take' || !('startUs' in answer)) continue;
      const [startUs, atUs] = [startOf(answer), answer.nowUs];
      const all = grants.get(step.key) ?? [];
      grants.set(step.key, all);
      all.push({ atUs, order, startUs, cost: answer.allowed ? step.cost : 0 });
    }
  }
  for (const [key, all] of grants) {
    for (const some of sharingState(all, restarts) as Used[][]) {
      const sums = new Map<number, number>();
      let [lastUs, seenUs] = [0, 0];
      for (const { startUs, cost } of some) {
        // The store's clock went back to before the period, whose count had expired by then.
        if (startUs < seenUs) sums.clear();
        seenUs = startUs;
        if (startUs < lastUs)
          return `the period of ${key} since ${lastUs} is followed by ${startUs}`;
        if (cost > 0) lastUs = startUs; // a rejected request begins no period
        const sum = (sums.get(startUs) ?? 0) + cost;
        sums.set(startUs, sum);
        if (sum > plan.quota.limit) {
          return `${key} was admitted ${sum} of ${plan.quota.limit} units in one period`;
        }
      }
    }
  }
  return undefined;
};

/**
 * Quotas: the app gets a report when a key has used half of its limit, and another when the key has used all of it.
 * Without faults, the app gets each report only once, unless a report failed.
 */
const thresholdsAreTold: Law = ({ plan, quotas, restarts }) => {
  if (!plan.quota || !quotas) return undefined;
  const { limit } = plan.quota;
  const calm = plan.faults.length === 0;
  const keepsAll = restarts.every(({ executions, kept }) => kept === executions);
  for (const [key, { startUs, endUs, used }] of quotas.counts) {
    for (const share of SHARES) {
      const told = quotas.told
        .filter((one) => one.key === key && one.threshold === share)
        .map(({ id }) => periodOf(id))
        // A period whose start was unknown at first can be reported under two names.
        .filter((name) => name === timeOf(startUs) || name === `until ${timeOf(endUs)}`);
      if (used < share * limit) continue;
      if (told.length === 0)
        return `${key} has used ${used} of ${limit} units, and nobody was told`;
      if (calm && quotas.told.length < 6 && new Set(told).size < told.length) {
        return `${key} crossed ${share} of ${limit} units once, and it was told ${told.length} times`;
      }
    }
  }
  const early = quotas.told.find(({ used, threshold }) => used < threshold * limit);
  if (early)
    return `${early.key} had used ${early.used} of ${limit} units when ${early.threshold} was told`;
  const ids = new Set<string>();
  for (const { key, threshold, id } of quotas.told) {
    const name = `${key} ${threshold} ${periodOf(id)}`;
    if (keepsAll && !ids.has(id) && ids.has(name)) return `the report of ${name} has several ids`;
    ids.add(id).add(name);
  }
  return undefined;
};

function periodOf(id: string): string {
  const period = (JSON.parse(id) as (string | { until: string })[]).at(-1) ?? '';
  return typeof period === 'string' ? period : `until ${period.until}`;
}

function timeOf(us: number): string {
  return new Date(us / 1_000).toISOString();
}

/** Quotas: units that the store has lost are counted again, and no unit is counted twice. */
const lossesAreRestored: Law = ({ plan, quotas, calls, restarts }) => {
  if (!plan.quota || !quotas || repeatsRequests(plan)) return undefined;
  const lost = restarts.filter(({ executions, kept }) => kept < executions);
  // A restart from a snapshot also restores the marker of `restoreFrom`, which says that no units are missing.
  if (lost.some(({ kept }) => kept > 0)) return undefined;
  const lostUs = lost.at(-1)?.trueUs ?? Infinity;
  for (const [key, { startUs, used }] of quotas.counts) {
    const records = quotas.records.filter(
      (one) => one.key === key && isSamePeriod(one.startUs, startUs),
    );
    const least = sum(records.filter(({ trueUs, isLocal }) => trueUs < lostUs && !isLocal));
    if (used < least) return `${key} used ${least} units before they were lost, and has ${used}`;
    let most = sum(records.filter(({ isLocal }) => isLocal));
    for (const { steps, answers } of calls) {
      for (const [at, step] of steps.entries()) {
        const answer = answers?.[at];
        if (!isOfQuota(step) || step.key !== key || step.op !== 'take') continue;
        const isOther = answer && 'startUs' in answer && !isSamePeriod(startOf(answer), startUs);
        if (!answer || (answer.allowed && !isOther)) most += step.cost;
      }
    }
    if (used > most) return `${key} used at most ${most} units, and ${used} are counted`;
  }
  return undefined;
};

const sum = (all: readonly { readonly units: number }[]): number =>
  all.reduce((total, { units }) => total + units, 0);

const loadsAreFew: Law = ({ quotas, processes }) => {
  for (const process of quotas ? processes : []) {
    const own = quotas?.loads.filter((one) => one.process === process) ?? [];
    const most = mostAtOnce(own.map(({ fromUs, endUs = Infinity }) => [fromUs, endUs]));
    if (most > 8) return `${most} loads ran at once`;
  }
  return undefined;
};

/**
 * Idempotency: no id runs without a claim or gets the response of another id. Without faults, an id runs once while its
 * response is stored, unless the response was a 503. Retries get the stored response, or a 409 during the run.
 */
const idsRunOnce: Law = ({ plan, runs, outcomes, calls }) => {
  for (const { id, startUs } of runs) {
    const isClaimed = calls.some(
      ({ steps, answers, endUs = startUs }) =>
        endUs <= startUs &&
        steps.some(
          ({ claim, op }, at) => claim?.id === id && op === 'take' && answers?.[at]?.allowed,
        ),
    );
    if (!isClaimed) return `${id} ran without a claim`;
  }
  const calm = plan.faults.length === 0;
  // A response is kept even if the client that caused it has left.
  for (const { id, endUs, status } of calm ? runs : []) {
    if (endUs === undefined || status === 503) continue;
    const isAgain = runs.some(
      (other) =>
        other.id === id && other.startUs > endUs + 300_000 && other.startUs < endUs + 9_000_000,
    );
    if (isAgain) return `${id} had run to its end, and ran again`;
  }
  const done = new Map<string, { atUs: number; body: string }>();
  for (const { act, response, startUs, endUs = 0 } of outcomes
    .filter((one) => one.response)
    .sort(byEnd)) {
    const asked = plan.acts[act];
    if (asked?.kind !== 'once' || !response) continue;
    const { id } = asked;
    const { status, body } = response;
    const by = plan.acts[Number(/^done by (\d+)$/.exec(body)?.[1] ?? Number.NaN)];
    if (by && (by.kind !== 'once' || by.id !== id || by.status !== status)) {
      return `${id} was answered ${status} ${body}, which is the answer of another`;
    }
    if (![200, 201, 409, 429, 500, 503].includes(status)) return `${id} was answered ${status}`;
    if (!calm) continue;
    const before = done.get(id);
    const isSettled = before && startUs > before.atUs + 300_000 && endUs < before.atUs + 9_000_000;
    if (isSettled && status !== 429 && body !== before.body) {
      return `${id} was done, and then answered ${status} ${body}`;
    }
    if (body === `done by ${act}` && status !== 503) done.set(id, { atUs: endUs, body });
  }
  return undefined;
};

/** Claims: while one owner holds the claim of an id under its lease, the store gives it to no other owner. */
const claimsExclude: Law = (history) => {
  const { plan, restarts } = history;
  if (plan.faults.some(({ kind }) => kind === 'clock')) return undefined;
  if (restarts.some(({ executions, kept }) => kept < executions)) return undefined;
  const holders = new Map<string, { owner: string; untilUs: number }>();
  const givenUp = new Set(
    history.calls.flatMap(({ steps }) =>
      steps.flatMap(({ op, claim }) => (op === 'put' && claim ? [claim.owner] : [])),
    ),
  );
  // A claim is kept from its first `done`, even if the reply to that call was lost.
  const keptFrom = new Map<string, number>();
  for (const { steps, sentServerUs } of history.calls) {
    for (const { op, claim } of steps) {
      if (op !== 'done' || !claim || keptFrom.has(claim.owner)) continue;
      keptFrom.set(claim.owner, sentServerUs);
    }
  }
  for (const { call } of decided(history)) {
    const passes = call.steps.every(
      ({ op, binding }, at) => op !== 'take' || !binding || call.answers[at]?.allowed,
    );
    for (const [at, { claim, op, rule, ...step }] of call.steps.entries()) {
      const answer = call.answers[at];
      if (!claim || rule.machine !== 'claims' || !answer?.allowed) continue;
      const name = `${step.limiter}/${step.key}/${claim.id}`;
      const holder = holders.get(name);
      const isTaken =
        holder &&
        holder.owner !== claim.owner &&
        holder.untilUs > answer.nowUs &&
        !givenUp.has(holder.owner);
      if (op === 'take' && passes) {
        if (isTaken) return `${name} was given to ${claim.owner} while ${holder.owner} held it`;
        holders.set(name, { owner: claim.owner, untilUs: answer.nowUs + rule.leaseUs });
      } else if (op === 'record' || op === 'done') {
        if (isTaken) return `${name} of ${holder.owner} was changed by ${claim.owner}`;
        const doneUs = keptFrom.get(claim.owner) ?? answer.nowUs;
        const untilUs = op === 'done' ? doneUs + rule.keepUs : answer.nowUs + rule.leaseUs;
        holders.set(name, { owner: claim.owner, untilUs });
      }
    }
  }
  return undefined;
};

/**
 * Shapers: over all processes, jobs start at the pace. Timers may be late, so a few starts may be close together. The
 * law skips keys for which a call got no reply in time, unless that call only cancelled slots.
 */
const jobsKeepThePace: Law = ({ plan, starts, calls }) => {
  if (plan.faults.some(({ kind }) => kind !== 'weather')) return undefined;
  const unsure = new Set(
    calls
      .filter(
        ({ answers, sentUs, endUs = Number.POSITIVE_INFINITY }) =>
          !answers || endUs > sentUs + PATIENCE_US / 2,
      )
      .flatMap(({ steps }) => steps)
      .filter(({ op, rule }) => rule.machine === 'queue' && op !== 'put')
      .map(({ key }) => key),
  );
  const { limit, windowMs, burst } = plan.pace;
  const periodUs = (windowMs * 1_000) / limit;
  const keys = new Set(starts.map(({ key }) => key).filter((key) => !unsure.has(key)));
  for (const key of keys) {
    const times = starts
      .filter((one) => one.key === key)
      .map(({ serverUs }) => serverUs)
      .sort((a, b) => a - b);
    for (let from = 0; from < times.length; from += 1) {
      for (let to = from + burst; to < Math.min(times.length, from + burst + 40); to += 1) {
        const needed = (to - from - burst + 1) * periodUs;
        const passed = (times[to] as number) - (times[from] as number);
        if (passed < needed - periodUs - 3_000)
          return `${to - from + 1} jobs of ${key} started within ${passed} us`;
      }
    }
  }
  return undefined;
};

function wasPaused({ acts }: Plan, key: string, atUs: number): boolean {
  return acts.some(
    (act) =>
      act.kind === 'pause' &&
      act.key === key &&
      act.atUs < atUs + 2 * TOLERANCE_US &&
      act.atUs + act.forMs * 1_000 > atUs - PAUSE_LATE_US,
  );
}

/** After a pause, jobs may wait this much longer until they start. */
const PAUSE_LATE_US = 3_000_000;
/** A job whose start is this near may start despite a new pause. */
const PAUSE_NEAR_US = 60_000;

/**
 * Shapers: no job of a paused key starts. In the process that paused the key, this holds whatever the store does. In
 * other processes, it holds only without faults.
 */
const pausesHold: Law = ({ plan, outcomes, starts, restarts }) => {
  const calm = plan.faults.length === 0;
  if (restarts.some(({ executions, kept }) => kept < executions)) return undefined;
  if (plan.faults.some(({ kind }) => kind === 'freeze' || kind === 'clock')) return undefined;
  for (const { act, process, startUs, endUs } of outcomes) {
    const asked = plan.acts[act];
    if (asked?.kind !== 'pause') continue;
    const untilUs = startUs + asked.forMs * 1_000 - 2_000;
    for (const one of starts) {
      const fromUs = one.process === process ? startUs : calm ? endUs : undefined;
      if (one.key !== asked.key || fromUs === undefined) continue;
      if (one.atUs > fromUs + PAUSE_NEAR_US && one.atUs < untilUs) {
        return `a job of ${asked.key} started ${untilUs - one.atUs} us before the end of a pause`;
      }
    }
  }
  return undefined;
};

/** Shapers: if a process learns of a pause while a job waits, the job waits until the pause ends, even in an outage. */
const knownPausesHold: Law = ({ plan, calls, starts, restarts }) => {
  if (restarts.some(({ executions, kept }) => kept < executions)) return undefined;
  if (plan.faults.some(({ kind }) => kind === 'freeze' || kind === 'clock')) return undefined;
  for (const { act, process, steps, answers = [], sentUs, endUs = 0 } of calls) {
    if (endUs - sentUs > PATIENCE_US / 2) continue; // a late answer may be ignored
    const job = act === undefined ? undefined : plan.acts[act];
    // If no job waits, the process may forget the key.
    if (job?.kind !== 'job' || job.abortUs !== undefined) continue;
    for (const [at, { op, key, rule }] of steps.entries()) {
      const answer = answers[at];
      if (rule.machine !== 'queue' || !answer || !('pausedUntilUs' in answer)) continue;
      if (op !== 'take' || !answer.allowed) continue;
      const leftUs = answer.pausedUntilUs - answer.nowUs;
      if (leftUs <= 0) continue;
      const early = starts.find(
        (one) =>
          one.process === process &&
          one.key === key &&
          one.atUs > endUs + PAUSE_NEAR_US &&
          one.atUs < sentUs + leftUs - 2 * TOLERANCE_US,
      );
      if (early) return `a job of ${key} started inside a pause that its process knew of`;
    }
  }
  return undefined;
};

const abortsSettle: Law = ({ outcomes, starts }) => {
  const started = new Map(starts.map(({ act, atUs }) => [act, atUs]));
  for (const { act, process, abortedUs, endUs = Number.POSITIVE_INFINITY } of outcomes) {
    if (abortedUs === undefined || process.isDead || endUs < abortedUs) continue;
    const atUs = started.get(act);
    if (atUs !== undefined && atUs > abortedUs) return 'a job started after it was given up';
    if (atUs === undefined && endUs > abortedUs + 1_000)
      return 'a job that was given up still waited';
  }
  return undefined;
};

/** Shapers: a job starts once or is rejected, at the latest shortly after `maxWait`. */
const jobsSettle: Law = (history) => {
  const { plan, outcomes, starts } = history;
  for (const outcome of outcomes) {
    const { act, process, startUs, endUs = Number.POSITIVE_INFINITY } = outcome;
    const asked = plan.acts[act];
    if (asked?.kind !== 'job') continue;
    const [first, second] = starts.filter((one) => one.act === act);
    if (second) return `a job of ${asked.key} started twice`;
    if (process.isDead) continue;
    const waitedUs = (first?.atUs ?? endUs) - startUs - frozenUs(history, outcome);
    if (waitedUs > LONGEST_WAIT_US) return `a job of ${asked.key} waited ${waitedUs} us`;
  }
  return undefined;
};

/** The longest wait of a job: `maxWait`, plus 300 ms because a slot may be late. */
const LONGEST_WAIT_US = 2_000_000 + 300_000;

/** Shapers: each granted slot starts a job or is cancelled, unless its job was aborted or its key paused. */
const slotsAreUsed: Law = ({ plan, calls, starts }) => {
  if (plan.faults.length > 0) return undefined;
  const granted = new Map<string, number>();
  for (const { steps, answers = [] } of calls) {
    const { op, key, rule } = steps[0] as Step;
    if (rule.machine !== 'queue' || !answers.every(({ allowed }) => allowed)) continue;
    const by = op === 'take' ? 1 : op === 'put' ? -1 : 0;
    granted.set(key, (granted.get(key) ?? 0) + by);
  }
  for (const [key, count] of granted) {
    const acts = plan.acts.filter((act) => 'key' in act && act.key === key);
    if (acts.some(({ kind }) => kind === 'pause')) continue;
    const aborted = acts.filter((act) => act.kind === 'job' && act.abortUs !== undefined).length;
    const started = starts.filter((one) => one.key === key).length;
    if (count > started + aborted) return `${count} slots of ${key} started ${started} jobs`;
  }
  return undefined;
};

/** Shapers: over all processes, no more jobs of a key run at once than allowed. A killed process runs no jobs. */
const jobsRunFew: Law = ({ plan, starts }) => {
  const { jobsAtOnce = Infinity, faults } = plan;
  if (faults.some(({ kind }) => kind !== 'kill' && kind !== 'deploy')) return undefined;
  for (const key of new Set(starts.map((one) => one.key))) {
    const own = starts.filter((one) => one.key === key && !one.process.isDead);
    const most = mostAtOnce(own.map(({ atUs, endUs = Infinity }) => [atUs, endUs]));
    if (most > jobsAtOnce) return `${most} jobs of ${key} ran at once, where ${jobsAtOnce} may`;
  }
  return undefined;
};

/**
 * Shapers: if no other job has used a job's key for 3 s, the job starts at once, whatever the clock of its process
 * shows.
 */
const idleJobsStart: Law = ({ plan, outcomes, starts }) => {
  if (plan.faults.length > 0) return undefined;
  const jobs = outcomes.filter(({ act }) => plan.acts[act]?.kind === 'job');
  const keyOf = ({ act }: Outcome): string => (plan.acts[act] as { key: string }).key;
  for (const one of jobs) {
    const { startUs, error, abortedUs } = one;
    const waitedUs = (starts.find(({ act }) => act === one.act)?.atUs ?? Infinity) - startUs;
    if (abortedUs !== undefined) continue;
    // The queue of a key is empty after 2 s, the longest wait.
    const isAlone = jobs.every(
      (other) =>
        other === one ||
        keyOf(other) !== keyOf(one) ||
        other.startUs < startUs - 3_000_000 ||
        other.startUs > startUs + 2 * TOLERANCE_US,
    );
    if (wasPaused(plan, keyOf(one), startUs)) continue;
    if (isAlone && (error !== undefined || waitedUs > TOLERANCE_US)) {
      return `a job of ${keyOf(one)} waited ${waitedUs} us for nothing`;
    }
  }
  return undefined;
};

/** Live changes: all processes soon apply the limit that was set last. */
const changesApply: Law = ({ plan, outcomes }) => {
  if (plan.faults.length > 0) return undefined;
  for (const [at, { name, limit }] of plan.rates.entries()) {
    const changes = outcomes.flatMap(({ act, startUs, endUs, error }) => {
      const done = plan.acts[act];
      if (done?.kind !== 'change' || done.rate !== at || error !== undefined) return [];
      const forUs = 1_000 * (done.forMs ?? Infinity);
      return [{ startUs, endUs: endUs ?? Infinity, limit: done.limit, forUs }];
    });
    changes.sort((a, b) => a.endUs - b.endUs);
    const first = new Map<object, number>();
    for (const { decisions = [], startUs, endUs = startUs, process } of outcomes) {
      const own = decisions.find(({ limiter }) => limiter === name)?.policy?.limit;
      if (own === undefined) continue;
      // A process polls for changes from its first request on.
      const firstUs = first.get(process) ?? startUs;
      first.set(process, firstUs);
      if (startUs < firstUs + APPLIES_US) continue;
      const settled = changes.filter((change) => change.endUs + APPLIES_US < startUs).at(-1);
      // If two changes are concurrent, either may be the later one.
      const since = settled?.startUs ?? Number.NEGATIVE_INFINITY;
      const recent = changes.filter((change) => change.startUs < endUs && change.endUs > since);
      const known = [
        ...(settled ? limitsIn(settled, startUs, limit) : [limit]),
        ...recent.flatMap((change) => limitsIn(change, startUs, limit)),
      ];
      if (!known.includes(own)) return `${name} is ${own} where ${known.join(' or ')} was set`;
    }
  }
  return undefined;
};

/**
 * The limits that a process may apply at `nowUs` because of a change. Around the end of the change, both the changed
 * limit and the declared limit are possible.
 */
function limitsIn(
  {
    startUs,
    endUs,
    forUs,
    limit,
  }: Readonly<Record<'startUs' | 'endUs' | 'forUs' | 'limit', number>>,
  nowUs: number,
  declared: number,
): number[] {
  if (nowUs > endUs + forUs + APPLIES_US) return [declared];
  return nowUs < startUs + forUs - APPLIES_US ? [limit] : [limit, declared];
}

/** After this time, all processes have applied a change. By default they poll twice a second. */
const APPLIES_US = 600_000;

/** All laws by their names. */
export const LAWS: Readonly<Record<string, Law>> = {
  decidesExactly,
  admitsAtMostTheLimit,
  waitsAreHonest,
  cachedRejectionsAreTrue,
  rejectionsWriteNothing,
  refundsWorkOnce,
  theStoresClockDecides,
  failuresFailNobody,
  calmMeansNoErrors,
  outagesCostNoTime,
  usedWhenWell,
  itRecovers,
  fallbackKnowsReleases,
  permitsAreCounted,
  permitsLast,
  releasesAreFew,
  namesAreNew,
  nothingStays,
  shadowsRejectNobody,
  fallbackIsBounded,
  fallbackRejectsForAReason,
  spendingIsCharged,
  aloneIsChargedExactly,
  chargesAreSentTwice,
  reservationsStay,
  quotasHold,
  thresholdsAreTold,
  lossesAreRestored,
  loadsAreFew,
  idsRunOnce,
  endsArrive,
  claimsStay,
  claimsExclude,
  jobsKeepThePace,
  slotsAreUsed,
  jobsRunFew,
  jobsSettle,
  abortsSettle,
  idleJobsStart,
  pausesHold,
  knownPausesHold,
  changesApply,
};

export function judge(history: History): ReadonlyMap<string, string> {
  const broken = new Map<string, string>();
  for (const [name, law] of Object.entries(LAWS)) {
    const sentence = sentenceOf(law, history);
    if (sentence !== undefined) broken.set(name, sentence);
  }
  return broken;
}

/** Judges by one law. If answers are so wrong that the law throws, this is a violation, too. */
function sentenceOf(law: Law, history: History): string | undefined {
  try {
    return law(history);
  } catch (error) {
    return `the history makes no sense: ${String(error)}`;
  }
}
