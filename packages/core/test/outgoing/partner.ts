/** Many processes, each with a `pacedFetch` of its own, against a server that allows so much per window. */

import { pacedFetch } from '@spillway/core/fetch';
import { seeded } from '../net/random.js';
import { FakeShaper } from './fake-shaper.js';
import { VirtualTime } from './virtual-time.js';

export interface Scene {
  /** What the server allows, in fixed windows. */
  readonly limit: number;
  readonly windowMs: number;
  /** The pace of the shaper. */
  readonly periodMs: number;
  /** How long a call takes on its way there, and back, and in there. */
  readonly wayMs: readonly [least: number, most: number];
  readonly workMs: number;
  /** Whether the server tells its policy, too. */
  readonly policy: boolean;
  readonly seed: number;
}

export interface Outcome {
  /** Of the calls after the first 5 s: the share that was refused. */
  readonly refused: number;
  /** Of what the server allowed since then: the share that was used. */
  readonly used: number;
}

const PROCESSES = 8;
const JOBS = 2;
const WARM_UP_MS = 5_000;

/** Fixed windows whose start has nothing to do with when the first call comes. */
class Windows {
  private readonly scene: Scene;
  private readonly phaseMs: number;
  private current = -1;
  private used = 0;

  constructor(scene: Scene, phaseMs: number) {
    this.scene = scene;
    this.phaseMs = phaseMs;
  }

  /** Counts a call, and answers it. */
  count(nowMs: number): { readonly status: number; readonly headers: Record<string, string> } {
    const { limit, windowMs, policy } = this.scene;
    const instant = nowMs + this.phaseMs;
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

export async function play(scene: Scene, lengthMs: number): Promise<Outcome> {
  const time = new VirtualTime();
  const whole = seeded(scene.seed * 7919);
  const random = (): number => whole(2 ** 30) / 2 ** 30;
  const windows = new Windows(scene, random() * scene.windowMs);
  const shaper = new FakeShaper(time, scene.periodMs, 1);
  const beginMs = time.nowMs();
  const statuses: number[] = [];
  const way = (): number => scene.wayMs[0] + random() * (scene.wayMs[1] - scene.wayMs[0]);
  const fetch = async (): Promise<Response> => {
    await time.sleep(way());
    const answer = windows.count(time.nowMs());
    if (time.nowMs() - beginMs >= WARM_UP_MS) statuses.push(answer.status);
    await time.sleep(scene.workMs + way());
    return new Response(null, answer);
  };
  let isOver = false;
  const job = async (send: () => Promise<unknown>): Promise<void> => {
    while (!isOver) {
      await send();
      await time.sleep(5 * random());
    }
  };
  for (let one = 0; one < PROCESSES; one += 1) {
    const send = pacedFetch(shaper, { fetch, clock: time.clock, random });
    for (let other = 0; other < JOBS; other += 1) void job(() => send('https://partner.example/'));
  }
  await time.run(WARM_UP_MS + lengthMs);
  isOver = true;
  const allowed = statuses.filter((status) => status === 200).length;
  return {
    refused: 1 - allowed / statuses.length,
    used: allowed / ((lengthMs / scene.windowMs) * scene.limit),
  };
}
