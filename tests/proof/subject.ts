/** Bundles the program of the simulated processes from the packages' sources, and models its server. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Server, Subject } from '@spillway/conformance/simulator';
import { build } from 'esbuild';
import type { Redis } from 'ioredis';
import { ModelRedis } from './redis/model-redis.js';
import { longLived, timeWords, toldTime } from './redis/told-time.js';

const PACKAGES: string = join(import.meta.dirname, '../../packages');

/** A text of a source file that is replaced by another. */
export interface Mutation {
  /** Below `packages`, such as `core/src/stores/denial-cache.ts`. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/**
 * The texts of the files that mutations change, by path.
 *
 * @throws Error if a mutation's text is not in its file exactly once
 */
export function changedBy(mutations: readonly Mutation[]): ReadonlyMap<string, string> {
  const changed = new Map<string, string>();
  for (const { file, from, to } of mutations) {
    const path = join(PACKAGES, file);
    const text = changed.get(path) ?? readFileSync(path, 'utf8');
    if (text.split(from).length !== 2) throw new Error(`not once in ${file}: ${from}`);
    changed.set(
      path,
      text.replace(from, () => to),
    );
  }
  return changed;
}

/**
 * The text of a program, of the packages' sources: one for the simulator, or one for Node.
 *
 * @throws Error if {@link changedBy} throws
 */
export async function bundle(
  mutations: readonly Mutation[] = [],
  entry: string = 'program.ts',
): Promise<string> {
  const isForNode = entry === 'linearizable-worker.ts';
  const changed = changedBy(mutations);
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, entry)],
    bundle: true,
    write: false,
    format: isForNode ? 'esm' : 'cjs',
    platform: isForNode ? 'node' : 'neutral',
    external: ['ioredis'],
    mainFields: ['module', 'main'],
    conditions: ['@spillway/source', 'module', 'import'],
    loader: { '.lua': 'text' },
    target: 'es2022',
    plugins: [
      {
        name: 'mutations',
        setup({ onLoad }) {
          if (changed.size === 0) return;
          onLoad({ filter: /\.(ts|lua)$/ }, ({ path }) => {
            const contents = changed.get(path);
            if (contents === undefined) return undefined;
            return { contents, loader: path.endsWith('.lua') ? 'text' : 'ts' };
          });
        },
      },
    ],
  });
  return outputFiles[0]?.text as string;
}

/** The real code on the model of Redis, with these mutations in all processes. */
export async function subjectOf(mutations: readonly Mutation[] = []): Promise<Subject> {
  return { program: await bundle(mutations), server: () => new RedisServer() };
}

/** The program of the packed release, with which this version shares its counts. */
export function release(): Promise<string> {
  return bundle([], 'release.ts');
}

/** The real code on a real Redis, whose scripts read the simulated time. Each history begins with an empty one. */
export async function onRedis(redis: Redis): Promise<Subject> {
  return { program: await bundle(), server: () => new RealRedis(redis) };
}

interface ScriptRequest {
  readonly sha?: string;
  readonly text?: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

class RedisServer implements Server {
  private readonly model = new ModelRedis();

  get writes(): number {
    return this.model.db.writes;
  }

  handle(request: unknown, nowUs: number): unknown {
    const { sha, text, keys, args } = request as ScriptRequest;
    return sha === undefined
      ? this.model.eval(text as string, keys, args, nowUs)
      : this.model.evalsha(sha, keys, args, nowUs);
  }

  snapshot(): unknown {
    return this.model.snapshot();
  }

  restart(snapshot?: unknown): void {
    this.model.restart(snapshot as ReturnType<ModelRedis['snapshot']> | undefined);
  }

  /** Leaves out the keys of controls: the names of limiters stay as long as the limiters are known. */
  size(nowUs: number): number {
    this.model.db.nowUs = nowUs;
    this.model.db.size();
    return [...this.model.db.keys.keys()].filter((key) => !key.includes('{%control}')).length;
  }
}

/** Keys expire there only after the history: until then, an expired key must decide like a missing one. */
class RealRedis implements Server {
  readonly writes = 0;
  private readonly redis: Redis;
  private readonly texts = new Map<string, string>();
  private isEmpty: Promise<unknown> | undefined;

  constructor(redis: Redis) {
    this.redis = redis;
  }

  async handle(request: unknown, nowUs: number): Promise<unknown> {
    this.isEmpty ??= this.redis.flushall();
    await this.isEmpty;
    const { sha, text = this.texts.get(sha as string), keys, args } = request as ScriptRequest;
    if (text === undefined) throw new Error('NOSCRIPT No matching script. Please use EVAL.');
    if (sha === undefined) this.texts.set(createHash('sha1').update(text).digest('hex'), text);
    return this.redis.eval(
      longLived(toldTime(text)),
      keys.length,
      ...keys,
      ...args,
      ...timeWords(nowUs),
    );
  }

  snapshot(): undefined {}

  async restart(): Promise<void> {
    this.texts.clear();
    await this.redis.flushall();
  }

  size(): number {
    return 0;
  }
}
