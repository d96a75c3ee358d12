/** The packages as users install them: packed, in a separate project, through every way of loading them. */

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { programOfOptions } from './options.js';
import { pin, publicPackages, ROOT, readManifest } from './packages.js';
import { installPacked, type Project } from './project.js';

const packages = publicPackages();
const entries = packages.flatMap((p) => p.entries);
let project: Project;

/** The last major that knows `moduleResolution: node10`; other than the compiler of this repository. */
const OLD_TYPESCRIPT = 'typescript@5.9.3';

/** The older version of Redis clients that are supported in two majors. */
const OLD_CLIENTS = ['ioredis5', 'redis5'].map((name) => pin(join(ROOT, 'packages/redis'), name));

beforeAll(async () => {
  const [first, ...others] = packages;
  if (!first) throw new Error('nothing to pack');
  const peers = [...first.peers, OLD_TYPESCRIPT, ...OLD_CLIENTS];
  project = await installPacked([{ ...first, peers }, ...others]);
}, 180_000);

afterAll(() => project?.remove(), 120_000);

describe.each(packages)('$name, packed', ({ name }) => {
  const installed = (...path: string[]): string => join(project.dir, 'node_modules', name, ...path);
  const exported = (): string[] => filesIn(readManifest(installed()).exports);

  it('carries its licence and needs its siblings by version', () => {
    expect(existsSync(installed('LICENSE'))).toBe(true);
    const { dependencies = {}, peerDependencies = {} } = readManifest(installed());
    for (const range of Object.values({ ...dependencies, ...peerDependencies })) {
      expect(range).not.toMatch(/^(workspace|catalog|link|file):/);
    }
  });

  it('tells registries and bundlers what it is, and readers where it comes from', () => {
    const folder = `packages/${name.replace('@spillway/', '')}`;
    const manifest = readManifest(installed());
    expect(manifest).toMatchObject({
      license: 'MIT',
      engines: { node: '>=20.19' },
      homepage: `https://github.com/spillway/spillway/tree/main/${folder}#readme`,
      bugs: { url: 'https://github.com/spillway/spillway/issues' },
      repository: { url: 'git+https://github.com/spillway/spillway.git', directory: folder },
      publishConfig: { access: 'public', provenance: true },
    });
    expect(manifest.description).toMatch(/^Spillway\b|^Rate limiters/);
    expect(manifest.keywords).toContain('rate-limit');
    // Only a package without entries may do something when it is loaded: the command line.
    expect(manifest.sideEffects).toBe(exported().length > 1 ? false : undefined);
  });

  it('contains every file that its exports name', () => {
    expect(exported().filter((file) => !existsSync(installed(file)))).toEqual([]);
  });

  it('has neither sources nor source maps', () => {
    const files = readdirSync(installed(), { recursive: true, encoding: 'utf8' });
    expect(files.filter((file) => /^src\b|\.map$|(?<!\.d)\.[cm]?ts$/.test(file))).toEqual([]);
    expect(readFileSync(installed('package.json'), 'utf8')).not.toContain('/src/');
  });

  it('has no top-level await, which require could not load', () => {
    for (const file of exported().filter((path) => path.endsWith('.js'))) {
      expect(readFileSync(installed(file), 'utf8'), file).not.toMatch(/^(?!\s*\*)(\S.*= )?await /m);
    }
  });
});

it('core takes at most 1.5 MB of a disk', () => {
  const dir = join(project.dir, 'node_modules/@spillway/core');
  const files = readdirSync(dir, { recursive: true, withFileTypes: true });
  const sizes = files.map((file) =>
    file.isFile() ? statSync(join(file.parentPath, file.name)).size : 0,
  );
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(1_500_000);
});

describe('every entry', () => {
  const count = (load: string): string => `const counts = {};
    for (const entry of ${JSON.stringify(entries)}) counts[entry] = Object.keys(${load}).length;
    console.log(JSON.stringify(counts));`;
  const withNames = (counts: Record<string, number>): string[] =>
    Object.keys(counts).filter((entry) => (counts[entry] ?? 0) > 0);

  it('can be imported', async () => {
    project.write({ 'all.mjs': count('await import(entry)') });
    expect(withNames(await project.run('all.mjs'))).toEqual(entries);
  });

  it('can be required', async () => {
    project.write({ 'all.cjs': count('require(entry)') });
    expect(withNames(await project.run('all.cjs'))).toEqual(entries);
  });

  it('can be required where require knows only CommonJS, as in Jest', async () => {
    project.write({ 'all.cjs': count('require(entry)') });
    const counts = await project.run<Record<string, number>>(
      'all.cjs',
      '--no-experimental-require-module',
    );
    expect(withNames(counts)).toEqual(entries);
  });
});

describe('one copy of core', () => {
  it('is shared by a CommonJS and an ES module dependency of one program', async () => {
    project.write({
      'node_modules/cjs-dependency/index.js': `module.exports = require('@spillway/core');`,
      'node_modules/esm-dependency/package.json': '{ "type": "module", "exports": "./index.js" }',
      'node_modules/esm-dependency/index.js': `export * from '@spillway/core';`,
      'one-copy.mjs': `
        import cjs from 'cjs-dependency';
        import * as esm from 'esm-dependency';
        const functions = Object.keys(esm).filter((name) => typeof esm[name] === 'function');
        console.log(JSON.stringify(functions.map((name) => [name, cjs[name] === esm[name]])));`,
    });
    const functions = await project.run<[string, boolean][]>('one-copy.mjs');
    expect(functions).toContainEqual(['SpillwayError', true]);
    expect(functions.filter(([, same]) => !same)).toEqual([]);
  });

  it('is what every package hands on, imported or required', async () => {
    project.write({
      'hand-on.mjs': `
        import { createRequire } from 'node:module';
        import * as core from '@spillway/core';
        const require = createRequire(import.meta.url);
        const testing = await import('@spillway/core/testing');
        const others = [];
        for (const entry of ${JSON.stringify(entries)}) {
          const [imported, required] = [await import(entry), require(entry)];
          for (const name of Object.keys(imported)) {
            if (imported[name] !== required[name]) others.push(entry + ' has two of ' + name);
            const original = core[name] ?? testing[name] ?? imported[name];
            const isOwn = entry + name === '@spillway/nestjsmeter'; // its method of() takes contexts
            if (imported[name] !== original && !isOwn) others.push(entry + ' has its own ' + name);
          }
        }
        console.log(JSON.stringify(others));`,
    });
    expect(await project.run('hand-on.mjs')).toEqual([]);
  });
});

describe('strict TypeScript, declarations checked too', () => {
  const use = [
    ...entries.map((entry, index) => `import * as entry${index} from '${entry}';`),
    `export const all: readonly object[] = [${entries.map((_, index) => `entry${index}`)}];`,
  ].join('\n');
  const strict = { strict: true, skipLibCheck: false, exactOptionalPropertyTypes: true };

  /** The compiler's messages about one file, except about packages that are not ours. */
  async function messagesFor(
    file: string,
    text: string,
    options: object,
    compilerIn?: string,
  ): Promise<string[]> {
    const compilerOptions = {
      ...strict,
      target: 'es2022',
      noEmit: true,
      types: ['node'],
      ...options,
    };
    const tsconfig = { compilerOptions, files: [file] };
    project.write({ [file]: text, 'tsconfig.json': JSON.stringify(tsconfig) });
    const messages = await project.typeCheck('tsconfig.json', compilerIn);
    return messages.split('\n').filter((line) => line !== '' && isOurs(line));
  }

  it.each([
    { file: 'use.mts', module: 'node16', moduleResolution: 'node16' },
    { file: 'use.cts', module: 'node16', moduleResolution: 'node16' },
    { file: 'use.cts', module: 'nodenext', moduleResolution: 'nodenext' },
    { file: 'use.ts', module: 'esnext', moduleResolution: 'bundler' },
  ])('$file compiles with moduleResolution $moduleResolution', async ({ file, ...options }) => {
    expect(await messagesFor(file, use, options)).toEqual([]);
  });

  it('every entry is found with moduleResolution node10, which reads no exports', async () => {
    // The declarations themselves are checked above.
    const options = { module: 'commonjs', moduleResolution: 'node10', skipLibCheck: true };
    const none = `// @ts-expect-error: no such entry\nexport * from '@spillway/core/nothing';`;
    expect(await messagesFor('old.ts', `${use}\n${none}`, options, project.dir)).toEqual([]);
  }, 120_000);

  it('redisStore takes what clients of Redis make, without a cast', async () => {
    const options = { module: 'nodenext', moduleResolution: 'nodenext' };
    expect(await messagesFor('clients.mts', CLIENTS, options)).toEqual([]);
  });

  it('an option may be undefined wherever it may be left out', async () => {
    const options = { module: 'nodenext', moduleResolution: 'nodenext' };
    expect(await messagesFor('options.mts', programOfOptions(), options)).toEqual([]);
  });
});

const CLIENTS = `
  import { fromUpstash, redisControl, redisStore } from '@spillway/redis';
  import { redisStoreAt } from '@spillway/redis/testing';
  import { ManualClock } from '@spillway/core/testing';
  import { Redis as Upstash } from '@upstash/redis';
  import { Cluster, Redis } from 'ioredis';
  import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5';
  import { Cluster as ValkeyCluster, Redis as Valkey } from 'iovalkey';
  import { createClient, createCluster, RESP_TYPES } from 'redis';
  import { createClient as createClient5, createCluster as createCluster5 } from 'redis5';
  const nodes = { rootNodes: [{ url: 'redis://127.0.0.1:7000' }] };
  const commandOptions = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } };
  export const stores = [
    redisStore(new Redis()), redisStore(new Redis5()), redisStore(new Valkey()),
    redisStore(new Cluster([7000])), redisStore(new Cluster5([7000])), redisStore(new ValkeyCluster([7000])),
    redisStore(createClient()), redisStore(await createClient({ RESP: 3, commandOptions }).connect()),
    redisStore(createClient5()), redisStore(createCluster(nodes)), redisStore(createCluster5(nodes)),
    redisStore(fromUpstash(new Upstash({ url: 'https://redis.example', token: 'x' }))),
  ];
  export const others = [redisControl(createCluster(nodes)), redisStoreAt(createClient(), new ManualClock())];
  // @ts-expect-error: a URL is no client
  redisStore('redis://127.0.0.1');`;

/** False for a message about a file of a package that is not ours: `@types/koa` names a type that Koa no longer has. */
function isOurs(message: string): boolean {
  return !/^node_modules\/(?!@spillway\/)/.test(message);
}

/** Every file named in a tree of export conditions. */
function filesIn(exports: unknown): string[] {
  if (typeof exports === 'string') return [exports];
  return Object.values(exports as object).flatMap(filesIn);
}
