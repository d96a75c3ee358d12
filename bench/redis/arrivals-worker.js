/** One contender. Each byte that another process sends is a request. Measures how long each waits for its decision. */

import { createServer } from 'node:net';
import { Redis } from 'ioredis';
import { answerCalls } from '../harness/child.js';
import { cpuUs } from '../harness/cpu.js';
import { makeKeys, shuffled } from '../harness/keys.js';
import { contenders } from './contenders.js';

const [name, port] = process.argv.slice(2);
const client = new Redis({ host: '127.0.0.1', port: Number(port) });
const decide = await contenders[name].make(client);
const keys = makeKeys(10_000);
const sequence = shuffled(keys, keys.length);
let next = 0;
let waits = [];
let open = 0;
let own = 0;

async function arrive() {
  const key = sequence[next];
  next = next + 1 === sequence.length ? 0 : next + 1;
  open += 1;
  const start = performance.now();
  await decide(key);
  waits.push(performance.now() - start);
  open -= 1;
}

const server = createServer((socket) => {
  socket.setNoDelay(true);
  socket.on('data', (chunk) => {
    for (let i = 0; i < chunk.length; i += 1) arrive();
  });
});

function listen() {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(server.address().port));
  });
}

function begin() {
  waits = [];
  own = cpuUs();
}

/** Waits until all requests are answered. Returns all waits since `begin`, in microseconds. */
async function end() {
  while (open > 0 || (await connections()) > 0) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return {
    waits: waits.map((ms) => Math.round(ms * 1000)),
    clientUs: (cpuUs() - own) / waits.length,
  };
}

const connections = () => new Promise((resolve) => server.getConnections((_, n) => resolve(n)));

answerCalls({ listen, begin, end });
