/** @spillway/conformance/simulator: runs real code in simulated processes, against a server that fails. */

import type { History } from './simulator/history.js';
import { judge } from './simulator/laws.js';
import { type Focus, type Plan, planOf, shrink } from './simulator/plan.js';
import { run, type Subject } from './simulator/run.js';

export type { History } from './simulator/history.js';
export { LAWS } from './simulator/laws.js';
export type { Link, Server } from './simulator/network.js';
export type { FaultKind, Focus, Plan } from './simulator/plan.js';
export type { Program, Subject } from './simulator/run.js';

/** A history that breaks laws. */
export interface Failure {
  readonly seed: number;
  /**
   * The smallest plan found that breaks the first of the laws that the plan of the seed breaks. With `shrinks: false`,
   * the plan of the seed.
   */
  readonly plan: Plan;
  /** Maps the name of each broken law to a sentence about one violation. */
  readonly broken: ReadonlyMap<string, string>;
}

export interface SimulateOptions extends Focus {
  /** The seed of the history. Default 1. */
  readonly seed?: number | undefined;
  /** About how many acts (things that processes do) a history has. Default 300. */
  readonly size?: number | undefined;
  /** Whether to shrink a failing plan. Default true. */
  readonly shrinks?: boolean | undefined;
}

/** The result of one history. */
export interface Result {
  readonly history: History;
  /** The number of acts, plus the number of steps in all calls to the store. */
  readonly operations: number;
  readonly failure: Failure | undefined;
}

/**
 * Runs one history and judges it. The same subject and options give the same result.
 *
 * @throws Error that `subject.program` throws while it is evaluated
 * @example
 * ```ts
 * import { simulate, type Subject } from '@spillway/conformance/simulator';
 *
 * declare const subject: Subject;
 * const { failure } = await simulate(subject, { seed: 7 });
 * if (failure) throw new Error([...failure.broken.values()].join('\n'));
 * ```
 */
export async function simulate(subject: Subject, options: SimulateOptions = {}): Promise<Result> {
  const { seed = 1, size = 300, shrinks = true } = options;
  const plan = planOf(seed, size, options);
  const history = await run(plan, subject);
  const broken = judge(history);
  const operations =
    plan.acts.length + history.calls.reduce((sum, { steps }) => sum + steps.length, 0);
  if (broken.size === 0) return { history, operations, failure: undefined };
  const [law] = [...broken.keys()];
  const fails = async (tried: Plan): Promise<boolean> =>
    judge(await run(tried, subject)).has(law as string);
  const smallest = shrinks ? await shrink(plan, fails) : plan;
  const found = shrinks ? judge(await run(smallest, subject)) : broken;
  return { history, operations, failure: { seed, plan: smallest, broken: found } };
}
