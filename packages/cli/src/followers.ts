import { setTimeout as delay } from 'node:timers/promises';
import { isSpillwayError } from '@spillway/core';
import type { Follower, RedisControl } from '@spillway/redis';
import { type Followed, followedBy } from './in-force.js';

/** How long to wait until processes have applied a change. By default, they poll twice a second. */
const WAIT_MS = 2_000;
const LOOK_EVERY_MS = 100;

export async function followersOf(control: RedisControl): Promise<readonly Follower[] | undefined> {
  try {
    return await control.followers();
  } catch (error) {
    // The command works without this information.
    if (isSpillwayError(error)) return undefined;
    throw error;
  }
}

/**
 * Waits until all processes with the limiter have applied all changes, but at most `waitMs`. Returns how many processes
 * there are and how many have applied them; undefined if this can't be read from Redis.
 */
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
  if (!followed) return 'Which processes follow could not be read from Redis.';
  const { following, of } = followed;
  if (of === 0) {
    return isAnnounced
      ? 'No process with this limiter is running now. Those that start will follow.'
      : 'No process with a control has announced it, so none is known to follow.';
  }
  const line = `${following} of ${of} ${of === 1 ? 'process follows' : 'processes follow'}`;
  if (following === of) return `${line}.`;
  return `${line} so far. A killed process is counted for up to 6 minutes. Check again with: spillway status`;
}
