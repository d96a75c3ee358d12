/** Clients of an overloaded service, in a separate process. They send new requests without waiting for responses. */

import http from 'node:http';
import { setPriority } from 'node:os';
import { answerCalls } from '../harness/child.js';

/** How many of 100 requests are of each class. */
const MIX = { critical: 20, post: 30, get: 40, test: 10 };
const DEADLINE_MS = 1_000;
/** After this time, even clients that wait give up. */
const PATIENCE_MS = 10_000;

const agent = new http.Agent({ keepAlive: true });
/** The behavior of clients: how long they wait for an answer, and how they connect. */
const CLIENTS = {
  'give up': { patienceMs: DEADLINE_MS, agent },
  wait: { patienceMs: PATIENCE_MS, agent },
  reconnect: { patienceMs: DEADLINE_MS, agent: false },
};

// This process represents other machines, so it must have priority over other processes. Not every user may set that.
try {
  setPriority(-10);
} catch {}

function draw() {
  let left = Math.random() * 100;
  for (const [name, share] of Object.entries(MIX)) {
    if (left < share) return name;
    left -= share;
  }
  return 'test';
}

/** Resolves with the status and the milliseconds it took; status 0 if there was no answer. */
function ask(port, name, { patienceMs, agent } = CLIENTS.wait, path = '/') {
  const start = performance.now();
  return new Promise((resolve) => {
    const end = (status) => resolve({ name, status, ms: performance.now() - start });
    const method = name === 'post' || name === 'critical' ? 'POST' : 'GET';
    const request = http.request({
      port,
      path,
      agent,
      method,
      headers: { 'x-class': name, 'content-length': 0 },
    });
    const timer = setTimeout(() => request.destroy(), patienceMs);
    request.once('response', (response) => {
      response.resume();
      response.once('close', () => {
        clearTimeout(timer);
        end(response.complete ? response.statusCode : 0);
      });
    });
    request.once('error', () => {
      clearTimeout(timer);
      end(0);
    });
    request.end();
  });
}

/** Forty clients, each of which sends the next request after its answer. Resolves to the requests served per second. */
async function closedLoop(ms, next) {
  const start = performance.now();
  let served = 0;
  const client = async () => {
    while (performance.now() - start < ms) {
      const { status } = await next();
      if (status === 200) served += 1;
    }
  };
  await Promise.all(Array.from({ length: 40 }, client));
  return (served * 1000) / (performance.now() - start);
}

/** Warms up the server, so that it has compiled the code that serves and the code that rejects. */
function warm(port, ms, clients) {
  let asked = 0;
  const next = () => {
    asked += 1;
    return ask(port, asked % 2 === 0 ? 'critical' : 'test', CLIENTS[clients], '/warm');
  };
  return closedLoop(ms, next);
}

/** The capacity: how many requests per second are served in a closed loop. */
function capacity(port, ms, clients) {
  return closedLoop(ms, () => ask(port, draw(), CLIENTS[clients]));
}

/** Sends a quarter of the rate for `calmMs`, then `rate` requests a second. The first `warmMs` are not counted. */
async function overload(port, rate, { calmMs, warmMs, ms }, clients) {
  const counts = Object.fromEntries(
    Object.keys(MIX).map((name) => [name, { offered: 0, served: 0 }]),
  );
  const tally = { rejected: 0, late: 0, unanswered: 0 };
  const pending = [];
  const start = performance.now();
  let dueMs = 0;
  while (dueMs < ms) {
    const gapMs = (-1000 / rate) * Math.log(1 - Math.random());
    dueMs += dueMs < calmMs ? 4 * gapMs : gapMs;
    const wait = start + dueMs - performance.now();
    if (wait > 1) await new Promise((resolve) => setTimeout(resolve, wait));
    const counted = dueMs >= warmMs;
    const asked = ask(port, draw(), CLIENTS[clients]);
    pending.push(asked.then((answer) => counted && count(answer, counts, tally)));
  }
  await Promise.all(pending);
  agent.destroy();
  return { counts, ...tally, seconds: (ms - warmMs) / 1000 };
}

/** Sends one request after another, at most `rate` per second. */
async function steady(port, rate, ms) {
  const answers = [];
  for (const start = performance.now(); performance.now() - start < ms; ) {
    const next = new Promise((resolve) => setTimeout(resolve, 1000 / rate));
    answers.push(await ask(port, draw()));
    await next;
  }
  agent.destroy();
  const took = answers.map((answer) => answer.ms).sort((a, b) => a - b);
  const at = (part) => took[Math.floor(part * (took.length - 1))];
  const rejected = answers.filter(({ status }) => status === 503).length;
  return { asked: answers.length, rejected, p50: at(0.5), p99: at(0.99) };
}

function count({ name, status, ms }, counts, tally) {
  counts[name].offered += 1;
  if (status === 503) tally.rejected += 1;
  else if (status !== 200) tally.unanswered += 1;
  else if (ms > DEADLINE_MS) tally.late += 1;
  else counts[name].served += 1;
}

answerCalls({ capacity, overload, steady, warm });
