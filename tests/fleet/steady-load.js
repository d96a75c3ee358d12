/**
 * Sends requests to a service evenly, `rate` times a second for `seconds`, each from another address; prints the
 * responses by status as JSON.
 */

import { Agent, get } from 'node:http';

const [, , url, rate, seconds] = process.argv;
const TOTAL = Number(rate) * Number(seconds);
/** A response that takes longer counts as none. */
const PATIENCE_MS = 5_000;

const agent = new Agent({ keepAlive: true, maxSockets: 64 });
const statuses = {};
let unanswered = 0;
let ended = 0;
let sent = 0;

function end() {
  ended += 1;
  if (ended < TOTAL) return;
  process.stdout.write(JSON.stringify({ statuses, unanswered }), () => process.exit());
}

function ask() {
  sent += 1;
  const address = `10.${sent >> 16}.${(sent >> 8) & 255}.${sent & 255}`;
  const options = { agent, headers: { 'x-forwarded-for': address }, timeout: PATIENCE_MS };
  const request = get(url, options, (response) => {
    statuses[response.statusCode] = (statuses[response.statusCode] ?? 0) + 1;
    response.resume().once('end', end);
  });
  request.once('timeout', () => request.destroy(new Error('no answer')));
  request.once('error', () => {
    unanswered += 1;
    end();
  });
}

const start = performance.now();
const timer = setInterval(() => {
  const due = Math.min(TOTAL, Math.floor(((performance.now() - start) / 1000) * Number(rate)));
  while (sent < due) ask();
  if (sent === TOTAL) clearInterval(timer);
}, 1);
