import { expect, it } from 'vitest';
import { failing, HELLO, type MiddlewareDriver } from './driver.js';

/** Tests for adapters whose guards are mounted by hand. */
export function mistakes(driver: MiddlewareDriver): void {
  it('counts a request once though its guard is mounted twice, and says so', async () => {
    const lines: string[] = [];
    const logger = { warn: (line: string) => lines.push(line) };
    const limiter = driver.rateLimit({ name: 'same', limit: 2, window: '1h' });
    const guard = driver.guard(limiter, { logger });
    const { get } = await driver.serve({
      guards: [guard],
      routes: [{ ...HELLO, path: '/', guards: [guard] }],
    });
    for (const left of [1, 0]) {
      const { status, headers } = await get();
      expect(status).toBe(200);
      expect(headers['ratelimit']).toMatch(new RegExp(`^"same";r=${left};t=\\d+$`));
    }
    expect((await get()).status).toBe(429);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('the guard of same is mounted twice');
    expect(lines[0]).toContain('SPW_REGISTERED_TWICE');
  });

  it('counts two guards that are the same in all but being one', async () => {
    const lines: string[] = [];
    const logger = { warn: (line: string) => lines.push(line) };
    const guard = () =>
      driver.guard(driver.rateLimit({ name: 'same', limit: 9, window: '1h' }), { logger });
    const { get } = await driver.serve({
      routes: [{ ...HELLO, path: '/', guards: [guard(), guard()] }],
    });
    expect((await get()).headers['ratelimit']).toMatch(/^"same";r=8;t=\d+, "same";r=8;t=\d+$/);
    expect(lines).toEqual([]);
  });

  it.each(failing)('answers 500, not 429, where an own answer %s', async (_, own) => {
    const limiter = driver.rateLimit({ limit: 1, window: '1h', cost: () => 2 });
    const { get } = await driver.serve({ guards: [driver.guard(limiter, {}, own)] });
    expect((await get()).status).toBe(500);
  });
}
