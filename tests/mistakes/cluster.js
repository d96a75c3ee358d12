/** Limits without a store in a worker of node:cluster, and in the primary: prints what each logged, as JSON. */

import cluster from 'node:cluster';
import { createLimiter, memoryStore } from '@spillway/core';

const lines = [];
const options = { logger: { warn: (line) => lines.push(line) } };
const limit = { name: 'api', limit: 100, window: '1m' };
createLimiter(limit, { ...options, store: memoryStore() });
createLimiter(limit, options);
createLimiter(limit, options);

if (cluster.isPrimary) {
  const worker = cluster.fork();
  worker.on('message', (ofWorker) => {
    worker.kill();
    console.log(JSON.stringify({ ofPrimary: lines, ofWorker }));
  });
} else {
  process.send(lines);
}
