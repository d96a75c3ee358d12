/** The load: autocannon, in a separate process. */

import autocannon from 'autocannon';
import { answerCalls } from '../harness/child.js';
import { makeKeys, shuffled } from '../harness/keys.js';

const CONNECTIONS = 50;

/** Sends `amount` requests. Returns how many passed, and the total time. */
async function fire(port, keyCount, amount) {
  const keys = shuffled(makeKeys(keyCount), keyCount);
  let next = 0;
  const setupRequest = (request) => {
    next = next + 1 === keys.length ? 0 : next + 1;
    return { ...request, headers: { ...request.headers, 'x-api-key': keys[next] } };
  };
  const options = {
    url: `http://127.0.0.1:${port}`,
    connections: CONNECTIONS,
    amount,
    sampleInt: 100,
    requests: [{ method: 'GET', path: '/', setupRequest }],
  };
  // The first and the last response are timed here, because autocannon's duration is only as exact as its sampling.
  let first = 0;
  let last = 0;
  const result = await new Promise((resolve, reject) => {
    const run = autocannon(options, (error, done) => (error ? reject(error) : resolve(done)));
    run.on('response', () => {
      last = performance.now();
      first ||= last;
    });
  });
  return {
    passed: result['2xx'],
    rejected: result['4xx'],
    seconds: (last - first) / 1000,
    p50Ms: result.latency.p50,
    errors: result.errors,
  };
}

answerCalls({ fire });
