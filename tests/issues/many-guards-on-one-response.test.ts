/** As with GraphQL, where a client chooses how many limited calls share a response: Node warns of no leak. */

import { concurrencyLimit } from '@spillway/core';
import { nodeGuard } from '@spillway/core/node';
import { until } from 'spillway-testkit';
import { serveListener } from 'spillway-testkit/http';
import { expect, it, onTestFinished } from 'vitest';

it('holds twenty permits until it has closed, and gives each back once', async () => {
  const warnings: Error[] = [];
  const note = (warning: Error) => warnings.push(warning);
  process.on('warning', note);
  onTestFinished(() => void process.off('warning', note));
  const guards = Array.from({ length: 20 }, (_, index) =>
    nodeGuard(concurrencyLimit({ name: `g${index}`, limit: 1, key: 'all' })),
  );
  const held = () => guards.reduce((sum, { inProgress }) => sum + inProgress, 0);
  let most = 0;
  const { get } = await serveListener(async (req, res) => {
    for (const guard of guards) if (!(await guard(req, res))) return;
    most = held();
    res.end('ok');
  });
  for (const _ of [1, 2]) {
    expect((await get()).status).toBe(200);
    await until(() => held() === 0);
  }
  expect(most).toBe(20);
  expect(warnings).toEqual([]);
});
