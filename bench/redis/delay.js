/**
 * A network between client and server, in a separate process: a TCP proxy that delays data by a quarter of a
 * millisecond in each direction. A sleeping thread measures the time, because timers of Node count whole milliseconds.
 */

import { connect, createServer } from 'node:net';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { answerCalls } from '../harness/child.js';

const HOLD_MS = 0.25;
/** The size of the ring buffer: more chunks than are ever in flight. */
const RING = 1 << 16;

/** The time by a clock that all threads share. */
const now = () => performance.timeOrigin + performance.now();

/** Notifies the main thread of the number of chunks that have become due. */
function sleep({ due, counts }) {
  let told = 0;
  for (;;) {
    const put = Atomics.load(counts, 0);
    if (put === told) Atomics.wait(counts, 0, put);
    else {
      const left = due[told % RING] - now();
      if (left > 0) Atomics.wait(counts, 1, 0, left); // this count never changes: only time passes
      const before = told;
      const instant = now();
      while (told < put && due[told % RING] <= instant) told += 1;
      if (told > before) parentPort.postMessage(told - before);
    }
  }
}

function proxy(target) {
  const due = new Float64Array(new SharedArrayBuffer(8 * RING));
  const counts = new Int32Array(new SharedArrayBuffer(8));
  const held = [];
  let put = 0;
  const sleeper = new Worker(new URL(import.meta.url), { workerData: { due, counts } });
  sleeper.on('message', (many) => {
    for (const [socket, chunk] of held.splice(0, many)) socket.write(chunk);
  });
  const pass = (from, to) => {
    from.setNoDelay(true);
    from.on('error', () => to.destroy());
    from.on('close', () => to.destroy());
    from.on('data', (chunk) => {
      held.push([to, chunk]);
      due[put % RING] = now() + HOLD_MS;
      put += 1;
      Atomics.store(counts, 0, put);
      Atomics.notify(counts, 0);
    });
  };
  const server = createServer((client) => {
    const behind = connect(target, '127.0.0.1');
    pass(client, behind);
    pass(behind, client);
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(server.address().port));
  });
}

if (isMainThread) answerCalls({ proxy });
else sleep(workerData);
