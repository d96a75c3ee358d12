/** Starts two carriers and eight workers over one Redis, and shows where messages start. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { openCarrier } from './carrier.js';
import { WORKERS } from './lines.js';
import { Report, ROW_MS } from './report.js';

const { REDIS_URL, SECONDS = 16, REJECT_EACH = 40 } = process.env;

if (!(await hasRedis())) process.exit(1);

const report = new Report();
const onMessage = (message) => report.note(message);
const north = await openCarrier({ rejectEach: Number(REJECT_EACH), onMessage });
const south = await openCarrier({ onMessage });
const urls = JSON.stringify({ north: north.url, south: south.url });

const workers = Array.from({ length: WORKERS }, (_, i) =>
  fork(join(import.meta.dirname, 'worker.js'), [`${i + 1}`, urls]),
);
const exits = workers.map((worker) => once(worker, 'exit'));
await Promise.all(workers.map((worker, i) => Promise.race([once(worker, 'message'), exits[i]])));

let isOver = false;
process.once('SIGINT', () => {
  isOver = true;
});

console.log('3+120 is a message of worker 3, 120 ms after the beginning of the row; ! is a 429.\n');
report.begin();
const rows = Math.ceil((Number(SECONDS) * 1000) / ROW_MS / 4);
await run('quiet', 'a few messages: North is enough', rows);
await run('busy', 'more than all can take: South helps out', 2 * rows);
await run('quiet', 'a few messages again', rows);

tell('stop');
const codes = await Promise.all(exits);
north.close();
south.close();
report.summary();
if (codes.some(([code]) => code > 0)) process.exitCode = 1; // a worker has ended by an error

/** Has the workers send at this pace for so many rows. */
async function run(phase, text, count) {
  report.say(text);
  tell(phase);
  for (let row = 0; row < count && !isOver; row += 1) await report.row();
}

function tell(phase) {
  for (const worker of workers) if (worker.connected) worker.send(phase);
}

/** Whether there is a Redis; if not, says what to do. */
async function hasRedis() {
  if (!REDIS_URL) {
    console.error(
      'The workers are processes, and share their pace in a Redis. With one on this machine:',
    );
    console.error('REDIS_URL=redis://127.0.0.1:6379 npm run demo:dispatcher');
    return false;
  }
  const redis = new Redis(REDIS_URL, {
    lazyConnect: true,
    socketTimeout: 1000,
    retryStrategy: null,
  });
  let problem;
  redis.on('error', (error) => {
    problem = error.message || error.code;
  });
  const answers = await redis.ping().then(
    () => true,
    () => false,
  );
  redis.disconnect();
  if (!answers) console.error(`No Redis answers at REDIS_URL: ${problem ?? 'no answer'}`);
  return answers;
}
