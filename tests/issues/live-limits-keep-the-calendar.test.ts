/** Live limits with a window do not replace a calendar, as commands and views say. */

import { calendar, createLimiter, type Fault, memoryControl } from '@spillway/core';
import { expect, it } from 'vitest';

it('keeps the numbers of a limit by calendar, and reports a fault', () => {
  const control = memoryControl();
  const faults: Fault[] = [];
  const limiter = createLimiter(
    { name: 'quota', limit: 1, window: calendar('month') },
    { control, logger: false, onFault: (fault) => faults.push(fault) },
  );
  limiter.consume('ada');
  control.set('quota', { limits: { limit: 50, window: '1m' } }, { by: 'ada', because: 'a test' });
  const rejected = limiter.consume('ada');
  expect(rejected).toMatchObject({ allowed: false, policy: { limit: 1 } });
  expect(faults[0]).toMatchObject({ source: 'control', error: { code: 'SPW_WINDOW_INVALID' } });
});
