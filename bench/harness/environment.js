/** The machine and the versions of a run, which readers need to compare it with another. */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { canPin } from './child.js';

const PACKAGES = [
  'express',
  'koa',
  'fastify',
  'hono',
  '@hono/node-server',
  '@nestjs/core',
  'express-rate-limit',
  'koa-ratelimit',
  '@fastify/rate-limit',
  '@fastify/under-pressure',
  'hono-rate-limiter',
  '@nestjs/throttler',
  'p-queue',
  'bottleneck',
  'p-throttle',
  'limiter',
  'rate-limit-redis',
  'rate-limiter-flexible',
  'ioredis',
  'autocannon',
];

function versionOf(name) {
  // Not every package exports its package.json.
  const path = new URL(`../node_modules/${name}/package.json`, import.meta.url);
  return JSON.parse(readFileSync(path, 'utf8')).version;
}

/** Finds `v=7.0.15` in the version line of redis-server. */
export function redisVersion(program) {
  if (!program) return 'none';
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  return `${program} ${stdout.match(/v=(\S+)/)?.[1] ?? '?'}`;
}

export function environment(program) {
  const model = cpus()[0]?.model.trim() ?? 'unknown processor';
  return {
    date: new Date().toISOString().slice(0, 10),
    machine: `${model}, ${availableParallelism()} cores${canPin ? '' : ', processes not bound to cores'}`,
    versions: [
      `Node.js ${process.versions.node}`,
      redisVersion(program),
      ...PACKAGES.map((name) => `${name} ${versionOf(name)}`),
    ],
  };
}
