/** The session in the README of demo-express is what a shell shows, with every demo on Node. */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkBuilt, launch } from 'spillway-testkit/processes';
import { expect, it, onTestFinished } from 'vitest';
import { ROOT } from './snippets.js';

interface Shown {
  readonly command: string;
  readonly output: string;
}

/** The commands of the `console` blocks of a page, in their order, and what is shown below each. */
function sessionsIn(page: string): Shown[] {
  const blocks = [...page.matchAll(/^```console\n([\s\S]*?)^```/gm)].map(([, block]) => block);
  return blocks
    .join('')
    .split(/^\$ /m)
    .slice(1)
    .map((text) => {
      const lines = text.trimEnd().split('\n');
      const rest = lines.slice(1);
      const more = rest.filter((line) => line.startsWith('> ')).map((line) => line.slice(2));
      const output = rest.filter((line) => !line.startsWith('> '));
      return { command: [lines[0], ...more].join('\n'), output: output.join('\n') };
    });
}

/** Runs commands in one shell, and gives what each has written. */
function run(commands: readonly string[]): string[] {
  const marked = commands.flatMap((command) => [command, "printf '\\036'"]);
  const { stdout, error } = spawnSync('bash', ['-c', marked.join('\n')], { encoding: 'utf8' });
  if (error) throw error;
  return stdout.replaceAll('\r', '').split('\u001e').slice(0, -1);
}

/** With each new id as a number, so that the same id stays the same, and without how long to wait. */
function comparable(texts: readonly string[]): string[] {
  const ids = new Map<string, string>();
  const numbered = (id: string): string => {
    const known = ids.get(id) ?? `id ${ids.size + 1}`;
    ids.set(id, known);
    return known;
  };
  return texts.map((text) =>
    text
      .replace(/[0-9a-f]{8}(-[0-9a-f]{4,12}){4}/g, numbered)
      .replace(/(retry-after: )\d+/gi, '$1a while')
      .replace(/^idempotency-replayed/gim, 'Idempotency-Replayed')
      .replace(/^retry-after/gim, 'Retry-After')
      .trim(),
  );
}

it.each([
  ['demo-express', 'express', {}],
  ['demo-koa', 'koa', {}],
  ['demo-fastify', 'fastify', {}],
  ['demo-nestjs', 'nestjs', {}],
  ['demo-nestjs', 'nestjs', { PLATFORM: 'fastify' }],
])(
  '%s shows what a shell shows (%s, %o)',
  async (app, adapter, env) => {
    checkBuilt(adapter);
    const shown = sessionsIn(readFileSync(join(ROOT, 'apps', 'demo-express', 'README.md'), 'utf8'));
    expect(shown.length).toBeGreaterThan(4);
    const demo = await launch([process.execPath, join(ROOT, 'apps', app, 'server.js')], env);
    onTestFinished(() => void demo.process.kill('SIGKILL'));
    const { host } = new URL(demo.url);
    const written = run(shown.map(({ command }) => command.replaceAll('localhost:3000', host)));
    expect(comparable(written)).toEqual(comparable(shown.map(({ output }) => output)));
  },
  30_000,
);
