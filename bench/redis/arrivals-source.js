/** Sends requests, of one byte each, to a contender at random instants: a Poisson process. */

import { connect } from 'node:net';
import { answerCalls } from '../harness/child.js';

/** Several connections, as in production, so that one turn of the event loop may find several requests. */
const CONNECTIONS = 16;

const nap = new Int32Array(new SharedArrayBuffer(4));
const turn = () => new Promise(setImmediate);

function open(port) {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket));
    socket.setNoDelay(true);
    socket.once('error', reject);
  });
}

/** Sends `rate` requests a second for `ms` milliseconds. */
async function send(port, rate, ms) {
  const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, () => open(port)));
  let at = performance.now();
  const end = at + ms;
  for (let i = 0; at < end; i += 1) {
    at -= (Math.log(1 - Math.random()) * 1000) / rate;
    const left = at - performance.now();
    // Timers of Node count whole milliseconds.
    if (left > 0) Atomics.wait(nap, 0, 0, left);
    sockets[i % CONNECTIONS].write('.');
    await turn();
  }
  for (const socket of sockets) socket.end();
}

answerCalls({ send });
