/** The quick starts outside of this process: with `require`, on Bun, on Deno, and in Cloudflare's runtime. */

import { transform } from 'esbuild';
import { Miniflare } from 'miniflare';
import { checkBuilt, launch } from 'spillway-testkit/processes';
import { freePort } from 'spillway-testkit/redis-process';
import { bundleForWorker } from 'spillway-testkit/worker-bundle';
import { describe, expect, it, onTestFinished } from 'vitest';
import { program } from '../adapters/demos.js';
import { exampleOf, repeat, type Service, serviceAt, workshop } from './pages.js';

const write = workshop(import.meta.dirname);
const NODE = process.execPath;
const POST = { method: 'POST' };

/** Runs an example in a separate process, until the end of the test. */
async function launchExample(
  name: string,
  code: string,
  command: (file: string) => readonly [string, ...string[]],
): Promise<Service> {
  const port = await freePort();
  const text = `${code.replaceAll('3000', `${port}`)}\nconsole.log('port ${port}');\n`;
  const server = await launch(command(write(name, text)), {});
  onTestFinished(() => void server.process.kill('SIGKILL'));
  const service = serviceAt(port);
  const answers = () =>
    service.ask('/').then(
      ({ ok }) => ok,
      () => false,
    );
  await expect.poll(answers, { timeout: 10_000 }).toBe(true);
  return service;
}

describe('as server.mjs', () => {
  it.each(['express', 'koa', 'fastify', 'node'])('docs/start/%s.md is a server', async (name) => {
    checkBuilt(name === 'node' ? 'core' : name);
    const code = exampleOf(`docs/start/${name}.md`, 'A complete server');
    const { statuses } = await launchExample(`${name}.mjs`, code, (file) => [NODE, file]);
    expect(await statuses(6, '/reports', POST)).toEqual([...repeat(5, 202), 429]);
  });
});

describe('with require', () => {
  it.each([
    ['express', 'The same with require'],
    ['koa', 'The same with require'],
    ['fastify', 'The same with require'],
    ['node', 'The same with require'],
    ['hono', 'Node'],
  ])('docs/start/%s.md is a server', async (name, heading) => {
    checkBuilt(name === 'node' ? 'core' : name);
    const page = `docs/start/${name}.md`;
    const server = exampleOf(page, heading === 'Node' ? heading : 'A complete server', ' from ');
    const requires = exampleOf(page, heading, 'require(');
    const { code } = await transform(server.replaceAll(/^import .*\n/gm, ''), { loader: 'ts' });
    const printed = `${requires}\n${code.replace('3e3', '3000')}`;
    const { statuses } = await launchExample(`${name}.cjs`, printed, (file) => [NODE, file]);
    expect(await statuses(6, '/reports', POST)).toEqual([...repeat(5, 202), 429]);
  });

  it('docs/start/nestjs.md is a server, compiled to CommonJS', async () => {
    checkBuilt('nestjs');
    const { code } = await transform(exampleOf('docs/start/nestjs.md', 'A complete server'), {
      loader: 'ts',
      format: 'cjs',
      tsconfigRaw: { compilerOptions: { experimentalDecorators: true } },
    });
    const printed = code.replace('3e3', '3000'); // which is how esbuild writes it
    const { statuses } = await launchExample('nestjs.cjs', printed, (file) => [NODE, file]);
    expect(await statuses(6, '/reports', POST)).toEqual([...repeat(5, 202), 429]);
  });
});

describe.each([
  {
    runtime: 'Bun',
    command: (file: string) => [program('bun', '@oven', 'bin/bun'), file] as const,
    fetchPage: 'Bun.serve',
  },
  {
    runtime: 'Deno',
    command: (file: string) =>
      [program('deno', '@deno', 'deno'), 'run', '--allow-net', '--allow-env', file] as const,
    fetchPage: 'Deno.serve',
  },
])('on $runtime', ({ runtime, command, fetchPage }) => {
  it.each([
    ['fetch', fetchPage],
    ['hono', runtime],
  ])('docs/start/%s.md is a server that limits each address', async (name, heading) => {
    checkBuilt('hono');
    const code = exampleOf(`docs/start/${name}.md`, heading);
    const { ask, statuses } = await launchExample(`${runtime}-${name}.js`, code, command);
    // Bun forgets the type of a text if something reads its `body` first, and Deno its length.
    const { headers } = await ask('/');
    expect(headers.get('content-type')).toMatch(/^text\/plain\b/i);
    expect(headers.get('content-length')).toBe('6');
    expect(new Set(await statuses(150))).toEqual(new Set([200, 429]));
  });
});

it.each([
  ['hono', 'Cloudflare Workers'],
  ['fetch', 'A Worker'],
])('in workerd docs/start/%s.md limits each address', async (name, heading) => {
  const page = exampleOf(`docs/start/${name}.md`, heading);
  const { text } = await bundleForWorker(write(`worker-${name}.ts`, page));
  const miniflare = new Miniflare({
    script: text,
    modules: true,
    compatibilityDate: '2026-04-01',
    port: 0,
  });
  onTestFinished(() => miniflare.dispose());
  const { port } = await miniflare.ready;
  const { statuses } = serviceAt(Number(port));
  const seen = await statuses(150);
  expect(seen.filter((status) => status === 429).length).toBeGreaterThan(0);
  expect(seen.slice(0, 5)).toEqual(repeat(5, 200));
});
