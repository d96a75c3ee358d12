/**
 * Workers of one machine: four that share their utilization, three of them busy. Each prints a line for each reading.
 * Arguments: `cluster`, `threads` or `busy` (one worker alone); the folder; which part of its time a worker is busy.
 */

import cluster from 'node:cluster';
import { isMainThread, Worker, workerData } from 'node:worker_threads';
import { workerShedder } from '@spillway/core';
import { eventLoopSignal, machineSignal } from '@spillway/core/node';

const PARTS = [1, 1, 1, 0.3];
const PERIOD_MS = 20;

function work(id, directory, part) {
  const machine = machineSignal({ name: 'test', directory });
  const own = eventLoopSignal();
  const shedders = {
    together: workerShedder({ name: 'together', ladder: { signal: machine }, brake: false }),
    alone: workerShedder({ name: 'alone', ladder: { signal: own }, brake: false }),
  };
  const request = { method: 'GET', path: '/', clientIp: '', header: () => undefined, raw: {} };
  for (const shedder of Object.values(shedders)) shedder.decide(request);
  machine.watch(() => {
    const { workers } = machine;
    const line = {
      id,
      pid: process.pid,
      workers,
      machine: machine.read()?.value,
      own: own.read()?.value,
      together: shedders.together.shedAmount,
      alone: shedders.alone.shedAmount,
    };
    console.log(JSON.stringify(line));
  });
  setInterval(() => {
    const end = performance.now() + PERIOD_MS * part;
    while (performance.now() < end);
  }, PERIOD_MS);
}

const [kind, directory, part] = process.argv.slice(2);
if (kind === 'busy') work('0', directory, Number(part));
else if (!isMainThread) work(workerData.id, workerData.directory, workerData.part);
else if (cluster.isWorker) work(process.env.ID, directory, PARTS[Number(process.env.ID)]);
else {
  for (const [id, own] of PARTS.entries()) {
    if (kind === 'cluster') cluster.fork({ ID: `${id}` });
    else
      new Worker(new URL(import.meta.url), { workerData: { id: `${id}`, directory, part: own } });
  }
}
