/** Many processes, each with its own shaper and `pacedFetch`, against a server that limits calls per window. */

import { memoryStore } from '@spillway/core';
import { remoteStore, systemClock } from '@spillway/core/store';
import { createShaper, pacedFetch } from '@spillway/outgoing';
import { vi } from 'vitest';
import { seeded } from '../../../core/test/net/random.js';
import { FarStore } from '../shaper/set-up.js';

export interface Scene {
  /** What the server allows, in fixed windows. */
  readonly limit: number;
  readonly windowMs: number;
  /** The pace of the shaper. */
  readonly periodMs: number;
  /** How long a call is on its way to the server, and back, and how long the server works on it. */
  readonly wayMs: readonly [least: number, most: number];
  readonly workMs: number;
  /** How long the way to the store takes, in each direction. */
  readonly storeMs: number;
  /** Whether the server also sends its policy. */
  readonly policy: boolean;
  readonly seed: number;
}

export interface Outcome {
  /** The share of the calls after the first 5 s that the server rejected. */
  readonly refused: number;
  /** The share that was used of what the server allowed after the first 5 s. */
  readonly used: number;
}

const PROCESSES = 8;
const JOBS = 2;
const WARM_UP_MS = 5_000;

const nowMs = (): number => systemClock.nowUs() / 1_000;
const sleep = (ms: number): Promise<void> =>
  new Promise((done) => setTimeout(done, Math.round(ms)));

/** Fixed windows, the first of which began `phaseMs` before the test. */
class Windows {
  private readonly scene: Scene;
  private readonly fromMs: number;
  private current = -1;
  private used = 0;

  constructor(scene: Scene, phaseMs: number) {
    this.scene = scene;
    // Windows count from here, so that a run does not depend on the real date.
    this.fromMs = nowMs() - phaseMs;
  }

  /** Counts a call and answers it. */
  count(): { readonly status: number; readonly headers: Record<string, string> } {
    const { limit, windowMs, policy } = this.scene;
    const instant = nowMs() - this.fromMs;
    const current = Math.floor(instant / windowMs);
    if (current !== this.current) this.used = 0;
    this.current = current;
    const seconds = Math.ceil(((current + 1) * windowMs - instant) / 1000);
    const isAllowed = this.used < limit;
    if (isAllowed) this.used += 1;
    return {
      status: isAllowed ? 200 : 429,
      headers: {
        ratelimit: `"a";r=${limit - this.used};t=${seconds}`,
        ...(policy && { 'ratelimit-policy': `"b";q=${limit};w=${windowMs / 1000}` }),
        ...(!isAllowed && { 'retry-after': String(seconds) }),
      },
    };
  }
}

/** Call this in fake time. */
export async function play(scene: Scene, lengthMs: number): Promise<Outcome> {
  const whole = seeded(scene.seed * 7919);
  const random = (): number => whole(2 ** 30) / 2 ** 30;
  const windows = new Windows(scene, random() * scene.windowMs);
  const memory = memoryStore({ clock: systemClock });
  const beginMs = nowMs();
  const statuses: number[] = [];
  const way = (): number => scene.wayMs[0] + random() * (scene.wayMs[1] - scene.wayMs[0]);
  const fetch = async (): Promise<Response> => {
    await sleep(way());
    const answer = windows.count();
    if (nowMs() - beginMs >= WARM_UP_MS) statuses.push(answer.status);
    await sleep(scene.workMs + way());
    return new Response(null, answer);
  };
  let isOver = false;
  const job = async (send: () => Promise<unknown>): Promise<void> => {
    while (!isOver) {
      await send();
      await sleep(5 * random());
    }
  };
  for (let one = 0; one < PROCESSES; one += 1) {
    const store = remoteStore(new FarStore(memory));
    store.delayMs = scene.storeMs;
    // Longer than a window: otherwise the calls that wait for the next one are rejected.
    const pace = { name: 'partner', limit: 1, window: scene.periodMs, maxWait: '2m' } as const;
    const shaper = createShaper(pace, { store, onStoreError: 'deny' });
    const send = pacedFetch(shaper, { fetch, random });
    for (let other = 0; other < JOBS; other += 1) {
      job(() => send('https://partner.example/')).catch(() => undefined);
    }
  }
  await vi.advanceTimersByTimeAsync(WARM_UP_MS + lengthMs);
  isOver = true;
  const allowed = statuses.filter((status) => status === 200).length;
  return {
    refused: 1 - allowed / statuses.length,
    used: allowed / ((lengthMs / scene.windowMs) * scene.limit),
  };
}
