/** What a caller of a shaper says about one piece of work, checked. */

import { checkOptions, mustBe, type NamesOf } from '@spillway/core/adapter';
import { checkHas, integerBetween } from '@spillway/core/direct';
import type { QueueRule } from '@spillway/core/store';
import type { Signal } from './aborted.js';
import type { ScheduleOptions, WaitOptions } from './contract.js';
import type { JobOptions } from './job.js';

const WAIT_OPTIONS: NamesOf<WaitOptions> = { priority: 1 };

const JOB_OPTIONS: NamesOf<ScheduleOptions> = { cost: 1, signal: 1, priority: 1 };

/** @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`, `SPW_COST_INVALID` */
export function costIn(options: ScheduleOptions | undefined, { burst }: QueueRule): number {
  if (options === undefined) return 1;
  checkOptions(options, 'a job', JOB_OPTIONS);
  const { cost = 1 } = options;
  if (Number.isSafeInteger(cost) && cost > burst) {
    const what = `at most the burst, which is ${burst}: set burst to the largest cost`;
    throw mustBe('cost', what, cost, 'SPW_COST_INVALID');
  }
  return integerBetween('cost', cost, 1, burst, 'SPW_COST_INVALID');
}

/** @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN` */
export function priorityIn(options: WaitOptions | undefined): number {
  if (options === undefined) return 0;
  checkOptions(options, 'waitOf', WAIT_OPTIONS);
  return checkPriority(options);
}

function checkPriority({ priority = 0 }: WaitOptions): number {
  if (!Number.isFinite(priority)) throw mustBe('priority', 'a number', priority);
  return priority;
}

/** @throws SpillwayError `SPW_OPTION_INVALID` */
export function jobOptions(options: ScheduleOptions): Pick<JobOptions, 'priority' | 'signal'> {
  const { signal } = options;
  const priority = checkPriority(options);
  checkHas('signal', 'addEventListener', signal);
  checkHas('signal', 'removeEventListener', signal);
  return { priority, signal: signal as Signal | undefined };
}
