/** The same requests under each algorithm. The real algorithms decide. */

import {
  createLimiter,
  fixedWindow,
  memoryStore,
  type RateAlgorithm,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../packages/core/src/index.js';
import { ManualClock } from '../../packages/core/src/testing.js';
import { circle, line, svg, text } from './svg.js';

const ALGORITHMS = { tokenBucket, fixedWindow, slidingWindow, slidingLog };
const LIMIT = 5;
const WINDOW_S = 10;
/** One request every 0.4 s, starting shortly before the end of a window. */
const REQUESTS_S: readonly number[] = Array.from({ length: 48 }, (_, at) => 7 + at * 0.4);

interface Decided {
  readonly atSeconds: number;
  readonly allowed: boolean;
}

export function algorithms(): string {
  const [left, top, rowHeight, perSecond] = [190, 58, 46, 24];
  const xOf = (seconds: number): number => left + (seconds - 6) * perSecond;
  const bottom = top + Object.keys(ALGORITHMS).length * rowHeight;
  const shapes = [
    text(16, 26, `Limit ${LIMIT} per ${WINDOW_S} s, a request each 0.4 s from 7 s on`, 'title'),
    text(xOf(27), 26, 'most in 10 s', 'quiet'),
  ];
  for (const edge of [10, 20]) {
    shapes.push(line([xOf(edge), top - 14], [xOf(edge), bottom], 'edge'));
  }
  for (const [row, [name, algorithm]] of Object.entries(ALGORITHMS).entries()) {
    const y = top + row * rowHeight + 14;
    const decided = decide(algorithm);
    shapes.push(text(16, y + 4, name), line([xOf(6), y], [xOf(26.5), y], 'axis'));
    for (const { atSeconds, allowed } of decided) {
      shapes.push(circle([xOf(atSeconds), y], allowed ? 5 : 3, allowed ? 'a' : 'no'));
    }
    shapes.push(text(xOf(28.4), y + 4, String(mostIn(WINDOW_S, decided)), 'title'));
  }
  for (const second of [6, 10, 15, 20, 25]) {
    shapes.push(text(xOf(second), bottom + 14, `${second} s`, 'quiet middle'));
  }
  shapes.push(
    circle([22, bottom + 34], 5, 'a'),
    text(34, bottom + 38, 'allowed', 'quiet'),
    circle([112, bottom + 34], 3, 'no'),
    text(124, bottom + 38, 'rejected', 'quiet'),
    text(left, bottom + 38, 'dashed: a fixed window ends', 'quiet'),
  );
  const alternative = `The same requests under four algorithms, with a limit of ${LIMIT} per ${WINDOW_S} seconds`;
  return svg(780, bottom + 54, alternative, shapes);
}

export function decide(algorithm: RateAlgorithm): Decided[] {
  const clock = new ManualClock();
  const startUs = clock.nowUs(); // a window begins there
  const limiter = createLimiter(
    { name: 'a', algorithm, limit: LIMIT, window: `${WINDOW_S}s` },
    { store: memoryStore({ clock }) },
  );
  return REQUESTS_S.filter((atSeconds) => atSeconds < 26.5).map((atSeconds) => {
    clock.setUs(startUs + Math.round(atSeconds * 1e6));
    const decision = limiter.consume('ada');
    if (decision instanceof Promise) throw new Error('a store in memory answers at once');
    return { atSeconds, allowed: decision.allowed };
  });
}

/** The most requests that were allowed in any interval of this length. */
export function mostIn(seconds: number, decided: readonly Decided[]): number {
  const times = decided.filter(({ allowed }) => allowed).map(({ atSeconds }) => atSeconds);
  const counts = times.map(
    (from) => times.filter((at) => at >= from && at < from + seconds - 1e-9).length,
  );
  return Math.max(...counts);
}
