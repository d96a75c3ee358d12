/** A service whose handlers burn the processor before and after they wait for a dependency, behind a shedder or none. */

import { once } from 'node:events';
import { eventLoopSignal } from '@spillway/core/node';
import { spillway, workerShedder } from '@spillway/express';
import express from 'express';
import { answerCalls } from '../harness/child.js';

const WORK_MS = 1.5;
const WAIT_MS = 20;

const [loops] = process.argv.slice(2);
const exponential = (mean) => -mean * Math.log(1 - Math.random());

function burn(ms) {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

const app = express();
if (loops !== 'none') {
  const shedder = workerShedder({
    name: 'workers',
    signal: eventLoopSignal(),
    ...(loops === 'brake' && { ladder: false }),
    ...(loops === 'ladder' && { brake: false }),
    priority: (request) => request.header('x-class'),
  });
  app.use(spillway(shedder));
}
app.use((_req, res) => {
  burn(exponential(WORK_MS));
  setTimeout(() => {
    burn(exponential(WORK_MS));
    res.end('done');
  }, exponential(WAIT_MS));
});

const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
answerCalls({ port: () => server.address().port });
