/** How many processes follow a change. */

import { setTimeout as delay } from 'node:timers/promises';
import { isSpillwayError } from '@spillway/core';
import type { Follower, RedisControl } from '@spillway/redis';
import { type Followed, followedBy } from './in-force.js';

/** A process looks for changes twice a second, unless its control says otherwise. */
const WAIT_MS = 2_000;
const LOOK_EVERY_MS = 100;

/** The processes that note themselves; undefined if they cannot be read. */
export async function followersOf(control: RedisControl): Promise<readonly Follower[] | undefined> {
  try {
    return await control.followers();
  } catch (error) {
    // It only tells more. What was to be done is done, or shown, without it.
    if (isSpillwayError(error)) return undefined;
    throw error;
  }
}

/** Waits until all processes with the limiter follow, at most 2 s. Undefined if nobody can tell. */
export async function untilFollowed(
  control: RedisControl,
  limiter: string,
  waitMs: number = WAIT_MS,
): Promise<Followed | undefined> {
  const endMs = performance.now() + waitMs;
  for (;;) {
    const followers = await followersOf(control);
    if (!followers) return undefined;
    const followed = followedBy(limiter, followers);
    if (followed.following === followed.of || performance.now() >= endMs) return followed;
    await delay(LOOK_EVERY_MS);
  }
}

export function followedLine(followed: Followed | undefined, isAnnounced: boolean | null): string {
  if (!followed) return 'Redis did not tell which processes follow.';
  const { following, of } = followed;
  if (of === 0) {
    return isAnnounced
      ? 'No process with it runs now: those that start follow.'
      : 'No process with a control has announced it: nobody is known to follow.';
  }
  const line = `${following} of ${of} ${of === 1 ? 'process follows' : 'processes follow'}`;
  if (following === of) return `${line}.`;
  return `${line} so far. A process that was killed is counted for up to 6 minutes. Look again with status.`;
}
