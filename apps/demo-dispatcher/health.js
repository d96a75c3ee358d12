/** The health page: for each partner, the jobs that wait and run in all workers, and its state in the store. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import { NAMES } from './partners.js';

/** Collects the reports of the workers, and serves them at `GET /health`. */
export async function openHealthPage(port) {
  const byWorker = new Map();
  const health = () => Object.fromEntries(NAMES.map((name) => [name, sumOf(name, byWorker)]));
  const server = createServer((request, response) => {
    if (request.url !== '/health') return response.writeHead(404).end();
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify(health(), null, 2));
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}/health`,
    note: ({ worker, stats }) => byWorker.set(worker, stats),
    health,
    close: () => server.close(),
  };
}

function sumOf(name, byWorker) {
  const all = [...byWorker.values()].map((stats) => stats[name]);
  const sum = (count) => all.reduce((total, stats) => total + stats[count], 0);
  const { runningInFleet, nextStartMs, pausedUntilMs, pausedBy } = all.at(-1) ?? {};
  return {
    waiting: sum('waiting'),
    running: sum('running'),
    runningInFleet,
    nextStartMs,
    pausedUntilMs,
    pausedBy,
  };
}
