/** Starts three partners and eight workers that share a Redis, and shows when messages start. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { openHealthPage } from './health.js';
import { openPartner } from './partner.js';
import { NAMES, PARTNERS, WORKERS } from './partners.js';
import { Report, ROW_MS } from './report.js';

const { REDIS_URL, SECONDS = 16, REJECT_EACH = 40, PORT = 3000 } = process.env;

if (!(await hasRedis())) process.exit(1);

const report = new Report();
const onMessage = (message) => report.note(message);
const page = await openHealthPage(Number(PORT));
const partners = await Promise.all(
  NAMES.map((name) => {
    const rejectEach = name === 'north' ? Number(REJECT_EACH) : undefined;
    return openPartner(name, { ...PARTNERS[name], rejectEach, onMessage });
  }),
);
const urls = JSON.stringify(Object.fromEntries(NAMES.map((name, i) => [name, partners[i].url])));

const workers = Array.from({ length: WORKERS }, (_, i) =>
  fork(join(import.meta.dirname, 'worker.js'), [`${i + 1}`, urls]),
);
const exits = workers.map((worker) => once(worker, 'exit'));
const left = { rejected: 0, running: 0 };
for (const worker of workers) {
  worker.on('message', (message) => {
    if (message.stats) page.note(message);
    if (message.rejected !== undefined) {
      left.rejected += message.rejected;
      left.running += message.running;
    }
  });
}
await Promise.all(workers.map((worker, i) => Promise.race([once(worker, 'message'), exits[i]])));

let isOver = false;
process.once('SIGINT', () => {
  isOver = true;
});

console.log(`Health page: ${page.url}`);
console.log(
  '3+120 is a message of worker 3, 120 ms after the beginning of the row; ^ is urgent, ! is a 429.\n',
);
report.begin();
const rows = Math.ceil((Number(SECONDS) * 1000) / ROW_MS / 4);
await run('quiet', 'a few messages', rows);
await run('busy', 'more than the partners take: urgent messages go first', 2 * rows);
for (const [name, { waiting, runningInFleet }] of Object.entries(page.health())) {
  report.say(`health of ${name}: ${waiting} waiting, ${runningInFleet} running`);
}
await run('quiet', 'a few messages again', rows);

tell('stop');
const codes = await Promise.all(exits);
page.close();
for (const partner of partners) partner.close();
report.say(`drained: ${left.rejected} messages did not start in time, ${left.running} still ran`);
report.summary();
if (codes.some(([code]) => code > 0)) process.exitCode = 1; // a worker ended with an error

/** Makes the workers send in this phase for `count` rows. */
async function run(phase, text, count) {
  report.say(text);
  tell(phase);
  for (let row = 0; row < count && !isOver; row += 1) await report.row();
}

function tell(phase) {
  for (const worker of workers) if (worker.connected) worker.send(phase);
}

/** Whether a Redis answers; if not, prints what to do. */
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
