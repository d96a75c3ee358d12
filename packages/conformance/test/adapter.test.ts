/**
 * The checks of adapters: a correct one passes them all, again and again, and each wrong one is caught by the check
 * that it names.
 */

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type AdapterTarget, adapterConformance } from '../src/index.js';
import { adapterMutants } from './adapter-mutants.js';
import { type Pieces, right, service } from './demo-service.js';

/** Starts a service until `whenDone` calls back. */
async function start(pieces: Pieces, whenDone: (end: () => void) => void): Promise<AdapterTarget> {
  const server = service(pieces).listen(0, '127.0.0.1');
  await once(server, 'listening');
  whenDone(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { url: () => `http://127.0.0.1:${port}` };
}

describe('a right adapter', () => {
  let url: AdapterTarget['url'] = () => '';
  let end: () => void = () => undefined;
  beforeAll(async () => {
    const target = await start(right, (stop) => {
      end = stop;
    });
    url = target.url;
  });
  afterAll(() => end());

  const checks = adapterConformance({ url: () => url() });
  for (const { name, run } of checks) it(name, run);
  for (const { name, run } of [...checks].reverse()) it(`${name}, again`, run);

  it('may be told a client by another header', async () => {
    const address: Pieces['address'] = (req) => {
      const { 'x-forwarded-for': _, 'cf-connecting-ip': own, ...headers } = req.headers;
      return right.address(
        Object.assign(Object.create(req), { headers: { ...headers, 'x-forwarded-for': own } }),
      );
    };
    const target = await start({ ...right, address }, onTestFinished);
    const options = { addressHeader: 'CF-Connecting-IP', workers: false };
    for (const { run } of adapterConformance(target, options)) await run();
  });
});

it('has a wrong adapter for every check', () => {
  const unproved = adapterConformance({ url: () => '' }).filter(
    ({ name }) => !adapterMutants.some(({ caughtBy }) => name.startsWith(caughtBy)),
  );
  expect(unproved).toEqual([]);
});

describe('an adapter is caught that', () => {
  for (const { name, caughtBy, pieces } of adapterMutants) {
    it.concurrent(name, async ({ expect, onTestFinished }) => {
      const target = await start({ ...right, ...pieces }, onTestFinished);
      const checks = adapterConformance(target).filter((check) => check.name.startsWith(caughtBy));
      expect(checks).toHaveLength(1);
      await expect(checks[0]?.run()).rejects.toMatchObject({ name: 'ClaimError' });
    });
  }
});
