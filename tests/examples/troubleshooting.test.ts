/** What docs/troubleshooting.md says about symptoms is what users really see. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rateLimit, spillway } from '@spillway/express';
import express, { type RequestHandler } from 'express';
import { ROOT } from 'spillway-testkit';
import { serveListener } from 'spillway-testkit/http';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { exampleOf, serveExample } from './pages.js';
import { stopClock } from './time.js';

const PAGE = 'docs/troubleshooting.md';

it('prints the table that the page shows', async () => {
  const lines: string[] = [];
  const spy = vi.spyOn(console, 'log').mockImplementation((line) => void lines.push(String(line)));
  onTestFinished(() => void spy.mockRestore());
  const advance = stopClock();
  const { port } = await serveExample(exampleOf(PAGE, 'Look first'));
  for (let i = 0; i < 3; i += 1) {
    advance(1_000);
    await (await fetch(`http://127.0.0.1:${port}/`)).text();
  }
  const [, shown = ''] =
    /```\n(TIME[\s\S]*?)```/.exec(readFileSync(join(ROOT, PAGE), 'utf8')) ?? [];
  const cellsOf = (text: string) =>
    text
      .trimEnd()
      .replace(/\d\d:\d\d:\d\d\.\d{3}/g, '-')
      .split('\n')
      .map((line) => line.split(/ {2,}/));
  expect(cellsOf(lines.join('\n'))).toEqual(cellsOf(shown));
});

describe('the lines that it names', () => {
  /** The log lines after requests with these headers. */
  async function linesOf(guard: (logger: { warn(line: string): void }) => RequestHandler) {
    const lines: string[] = [];
    const app = express();
    app.use(guard({ warn: (line) => void lines.push(line) }));
    const { get } = await serveListener(app);
    for (let i = 0; i < 3; i += 1) await get('/', { headers: { 'X-Forwarded-For': '192.0.2.1' } });
    return lines.join('\n');
  }

  it('are there for a proxy that nobody named, and end when it is', async () => {
    const limit = rateLimit({ name: 'a', limit: 100, window: '1m' });
    expect(await linesOf((logger) => spillway(limit, { logger }))).toContain(
      'SPW_FORWARDED_UNTRUSTED',
    );
    expect(await linesOf((logger) => spillway(limit, { logger, trustProxy: 1 }))).toBe('');
  });

  it('are there for a key that fails, a short window, and a limiter that is made anew', async () => {
    const key = (): string => {
      throw new Error('no user');
    };
    const failing = rateLimit({ name: 'b', limit: 100, window: '1m', key });
    const short = rateLimit({ name: 'c', limit: 100, window: 60 });
    const options = { trustProxy: 1 } as const;
    expect(await linesOf((logger) => spillway(failing, { ...options, logger }))).toContain(
      'no user',
    );
    expect(await linesOf((logger) => spillway(short, { ...options, logger }))).toContain(
      'SPW_WINDOW_SHORT',
    );
    const anew = (logger: { warn(line: string): void }): RequestHandler => {
      return (req, res, next) =>
        spillway(rateLimit({ name: 'd', limit: 1, window: '1m' }), { ...options, logger })(
          req,
          res,
          next,
        );
    };
    expect(await linesOf(anew)).toContain('SPW_MADE_IN_HANDLER');
  });
});
