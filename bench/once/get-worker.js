/** Requests without an idempotency key through a gate in memory, with or without `idempotency` in its list. */

import { idempotency, rateLimit } from '@spillway/core';
import { Gate } from '@spillway/core/adapter';
import { answerCalls } from '../harness/child.js';
import { cpuUs } from '../harness/cpu.js';
import { makeKeys, shuffled } from '../harness/keys.js';
import { UserRequest } from '../harness/user-request.js';

const [name] = process.argv.slice(2);
const TURN = 100_000;
const sequence = shuffled(makeKeys(10_000), TURN);
const key = (request) => request.raw;
const limits = ['second', 'minute', 'day'].map((limiter) =>
  rateLimit({ name: limiter, limit: 1_000_000, window: '400d', key }),
);
const LISTS = {
  without: limits,
  off: [rateLimit({ name: 'other', limit: 1, window: '1h', mode: 'off' }), ...limits],
  within: [idempotency({ scope: key }), ...limits],
};
const gate = new Gate(LISTS[name], {});

/** A response that stores headers and reports its end. */
class Exchange {
  fields = new Map();
  closed = undefined;
  isGone() {
    return false;
  }
  onClosed(closed) {
    this.closed = closed;
  }
  getHeader(field) {
    return this.fields.get(field);
  }
  setHeader(field, value) {
    this.fields.set(field, value);
  }
  reject() {
    throw new Error('nothing is rejected');
  }
  replay() {
    throw new Error('nothing is replayed');
  }
  recorder() {
    throw new Error('nothing is to be kept');
  }
}

function turn() {
  const before = cpuUs();
  for (const raw of sequence) {
    const exchange = new Exchange();
    if (gate.enter(new UserRequest(raw), exchange, exchange) !== 'pass')
      throw new Error('it did not pass');
    exchange.closed?.({ status: 200 });
  }
  return ((cpuUs() - before) * 1000) / sequence.length;
}

answerCalls({ turn });
