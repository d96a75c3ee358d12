/** The demos, and how each is started. */

import { readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { AdapterOptions } from '@spillway/conformance';
import { ROOT } from 'spillway-testkit';

export interface DemoKind {
  readonly name: string;
  /** The package that must have been built. */
  readonly adapter: string;
  command(): readonly [string, ...string[]];
  readonly env?: Readonly<Record<string, string>>;
  readonly options?: AdapterOptions;
  /** Whether it is tried with Redis too. */
  readonly speaksToRedis: boolean;
}

const NODE = process.execPath;
const EXPRESS_4 = join(import.meta.dirname, 'express4.js');

/** Every framework and runtime on which a demo runs. */
export const demos: readonly DemoKind[] = [
  {
    name: 'Express 5',
    adapter: 'express',
    command: () => [NODE, app('express')],
    speaksToRedis: true,
  },
  {
    name: 'Express 4',
    adapter: 'express',
    command: () => [NODE, '--import', EXPRESS_4, app('express')],
    speaksToRedis: true,
  },
  { name: 'Koa', adapter: 'koa', command: () => [NODE, app('koa')], speaksToRedis: true },
  {
    name: 'Fastify',
    adapter: 'fastify',
    command: () => [NODE, app('fastify')],
    options: { oneGuard: true },
    speaksToRedis: true,
  },
  {
    name: 'Hono on Node',
    adapter: 'hono',
    command: () => [NODE, app('hono-node')],
    speaksToRedis: true,
  },
  {
    name: 'Hono on Bun',
    adapter: 'hono',
    command: () => [program('bun', '@oven', 'bin/bun'), app('hono-node', 'bun.js')],
    options: { workers: false },
    // With Redis, pipelined requests failed here, and so did requests after a rejected body: Bun seems to close the
    // connection meanwhile.
    speaksToRedis: false,
  },
  {
    name: 'Hono on Deno',
    adapter: 'hono',
    command: () => [program('deno', '@deno', 'deno'), 'run', '-A', app('hono-node', 'deno.js')],
    options: { workers: false },
    speaksToRedis: true,
  },
  {
    name: 'Hono on workerd',
    adapter: 'hono',
    command: () => [NODE, app('hono-worker', 'start.js')],
    // Bodies pass through a stream, so their length is unknown. If a client disconnects before the response, workerd
    // neither aborts nor cancels the request, and stops reading it.
    options: { workers: false, lengths: false, aborts: false },
    speaksToRedis: false,
  },
  {
    name: 'Nest on Express',
    adapter: 'nestjs',
    command: () => [NODE, app('nestjs')],
    options: { oneGuard: true },
    speaksToRedis: true,
  },
  {
    name: 'Nest on Fastify',
    adapter: 'nestjs',
    command: () => [NODE, app('nestjs')],
    env: { PLATFORM: 'fastify' },
    options: { oneGuard: true },
    speaksToRedis: true,
  },
];

function app(name: string, file = 'server.js'): string {
  return join(ROOT, 'apps', `demo-${name}`, file);
}

/** The program of a runtime, from the platform-specific package that npm installed with its main package. */
export function program(main: string, scope: string, file: string): string {
  const modules = join(realpathSync(join(ROOT, 'tests', 'node_modules', main)), '..');
  const [platform] = readdirSync(join(modules, scope));
  if (platform === undefined) throw new Error(`${main} has no program for this platform`);
  return join(modules, scope, platform, file);
}
