/** One contender filled with keys: its memory, and the pause of a full garbage collection. */

import { answerCalls } from '../harness/child.js';
import { makeKey } from '../harness/keys.js';
import { median } from '../harness/stats.js';

let timers = 0;
for (const kind of ['setTimeout', 'setInterval']) {
  const original = globalThis[kind];
  globalThis[kind] = (...args) => {
    timers += 1;
    return original(...args);
  };
}
const { contenders } = await import('./contenders.js');

function settled() {
  for (let i = 0; i < 2; i += 1) globalThis.gc();
  return process.memoryUsage();
}

/** `times`: how many decisions each key gets, in rounds over all keys. */
async function fill(name, count, times) {
  const { make } = contenders[name];
  const decide = make();
  const before = settled();
  timers = 0;
  for (let round = 0; round < times; round += 1) {
    for (let index = 0; index < count; index += 1) await decide(makeKey(index));
  }
  const after = settled();
  const pauses = [];
  for (let i = 0; i < 5; i += 1) {
    const start = performance.now();
    globalThis.gc();
    pauses.push(performance.now() - start);
  }
  await decide(makeKey(0)); // keeps the contender alive until here
  return {
    heap: (after.heapUsed - before.heapUsed) / count,
    outside: (after.external - before.external) / count,
    rss: (after.rss - before.rss) / count,
    timers: timers / count,
    pauseMs: median(pauses),
  };
}

answerCalls({ fill });
