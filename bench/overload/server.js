/** A service that uses CPU time, or waits for one of a few connections, behind shedders or none. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import { eventLoopSignal, nodeGuard } from '@spillway/core/node';
import { fleetShedder, spillway, workerShedder } from '@spillway/express';
import express from 'express';
import { answerCalls } from '../harness/child.js';

const WORK_MS = 1.5;
const WAIT_MS = 20;
const CONNECTIONS = 10;
const QUERY_MS = 50;

const [protection, slow] = process.argv.slice(2);
const exponential = (mean) => -mean * Math.log(1 - Math.random());
const works = Array.from({ length: 200 }, (_, i) => -WORK_MS * Math.log((i + 0.5) / 200));
let drawn = 0;

/**
 * Random work, exponentially distributed, but with the same sum for each 200 requests. Otherwise runs of a few seconds
 * would differ by about 3 %.
 */
function drawWork() {
  const left = works.length - (drawn % works.length);
  const at = Math.floor(Math.random() * left);
  const work = works[at];
  works[at] = works[left - 1];
  works[left - 1] = work;
  drawn += 1;
  return work;
}

function processorUs() {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** Works until this much CPU time is used. Wall time would include the time that other processes use on the core. */
function burn(ms) {
  const endUs = processorUs() + ms * 1000;
  while (processorUs() < endUs);
}

const priority = (request) => request.header('x-class');
const workers = (loops) =>
  workerShedder({ name: 'workers', signal: eventLoopSignal(), priority, ...loops });
const fleet = () => fleetShedder({ name: 'fleet', capacity: 40, priority });

const PROTECTIONS = {
  none: () => [],
  ladder: () => [workers({ brake: false })],
  brake: () => [workers({ ladder: false })],
  workers: () => [workers()],
  fleet: () => [fleet()],
  both: () => [fleet(), workers()],
};

function busyHandler(_req, res) {
  burn(drawWork());
  setTimeout(() => {
    burn(drawWork());
    res.end('done');
  }, exponential(WAIT_MS));
}

let free = CONNECTIONS;
const waiting = [];

/** Works like a pool of connections. If all are in use, a request waits in a queue, even if its client has left. */
function poolHandler(_req, res) {
  const query = () =>
    setTimeout(() => {
      res.end('done');
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }, QUERY_MS);
  if (free === 0) return waiting.push(query);
  free -= 1;
  query();
}

// Warms up the code that serves and the code that rejects. In production, both are compiled before an overload starts.
const late = { name: 'late', read: () => ({ value: 3, ageMs: 0 }) };
const WARM = '/warm';
const rejecter = () =>
  workerShedder({ name: 'warm', ladder: false, brake: { signal: late }, priority });

const app = express();
let listener = app;
if (protection === 'front') {
  const [guard, warming] = [nodeGuard(workers()), nodeGuard(rejecter())];
  listener = (req, res) => {
    const mayPass = req.url === WARM ? warming : guard;
    if (mayPass(req, res)) app(req, res);
  };
} else if (protection !== 'none') {
  app.use(WARM, spillway(rejecter()));
}
app.use(WARM, (_req, res) => res.end('done'));
const limiters = PROTECTIONS[protection]?.() ?? [];
if (limiters.length > 0) app.use(spillway(limiters));
app.use(slow === 'database' ? poolHandler : busyHandler);

const server = createServer(listener).listen(0, '127.0.0.1');
await once(server, 'listening');

/** The processor time that the process has used, and how long its loop was busy and idle, in milliseconds. */
function spent() {
  const { active, idle } = performance.eventLoopUtilization();
  return { processorMs: processorUs() / 1000, active, idle };
}

answerCalls({ port: () => server.address().port, spent });
