/** A service that burns the processor, or waits for one of a few connections, behind shedders or none. */

import { once } from 'node:events';
import { eventLoopSignal } from '@spillway/core/node';
import { fleetShedder, spillway, workerShedder } from '@spillway/express';
import express from 'express';
import { answerCalls } from '../harness/child.js';

const WORK_MS = 1.5;
const WAIT_MS = 20;
const CONNECTIONS = 10;
const QUERY_MS = 50;

const [protection, slow] = process.argv.slice(2);
const exponential = (mean) => -mean * Math.log(1 - Math.random());

/** Processor time, not time: what others take of the core must not count as work. */
function burn(ms) {
  const { user, system } = process.cpuUsage();
  const endUs = user + system + ms * 1000;
  for (let used = process.cpuUsage(); used.user + used.system < endUs; ) used = process.cpuUsage();
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
  burn(exponential(WORK_MS));
  setTimeout(() => {
    burn(exponential(WORK_MS));
    res.end('done');
  }, exponential(WAIT_MS));
}

let free = CONNECTIONS;
const waiting = [];

/** As with a pool of connections: who comes when all are in use waits in a line, also if its client has gone. */
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

const app = express();
const limiters = PROTECTIONS[protection]();
if (limiters.length > 0) app.use(spillway(limiters));
app.use(slow === 'database' ? poolHandler : busyHandler);

const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
answerCalls({ port: () => server.address().port });
