/** A service with little work rejects nothing, however often others keep it from the processor. */

import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from 'spillway-testkit';
import { checkBuilt, launch } from 'spillway-testkit/processes';
import { beforeAll, expect, it, onTestFinished } from 'vitest';

/** As a CPU limit of 0.5 that a neighbour has used up. */
const OWN_MS = 50;
const STOPPED_MS = 50;
const REQUESTS = 30;

beforeAll(() => checkBuilt('express'));

it('an idle service that is stopped for half of the time answers every request with 200', async () => {
  const server = `${ROOT}/apps/demo-express/server.js`;
  const demo = await launch([process.execPath, server], { FOUR: '1', WINDOW: '1s' });
  const stopped = share(demo.process);
  onTestFinished(() => {
    stopped.end();
    demo.process.kill('SIGKILL');
  });
  const statuses: number[] = [];
  let late = 0;
  for (let i = 0; i < REQUESTS; i += 1) {
    await sleep(200 + (i % 7) * 13); // not in step with the stops
    const start = performance.now();
    const { status } = await fetch(`${demo.url}/`);
    statuses.push(status);
    if (performance.now() - start > 15) late += 1;
  }
  expect(statuses).toEqual(new Array<number>(REQUESTS).fill(200));
  expect(late).toBeGreaterThan(3); // it was stopped indeed
});

/** Lets a process run for a part of the time. */
function share(child: { kill(signal: NodeJS.Signals): boolean }): { end(): void } {
  let timer: NodeJS.Timeout;
  const stop = () => {
    child.kill('SIGSTOP');
    timer = setTimeout(run, STOPPED_MS);
  };
  const run = () => {
    child.kill('SIGCONT');
    timer = setTimeout(stop, OWN_MS);
  };
  run();
  return { end: () => clearTimeout(timer) };
}
