/** A release, made in a copy: versions, changelogs, tarballs, and apps into which users install them. */

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Copy, copyRepository } from './copy.js';
import { ANSWERS, FILES } from './every-package.js';
import { execute } from './execute.js';
import { type App, install, MANAGERS, type Wanted } from './managers.js';
import { pin, publicFolders, publicPackages, ROOT, readManifest } from './packages.js';

let copy: Copy;
let tarballs: Wanted = {};

const versions = (): string[] => copy.folders.map((it) => readManifest(join(copy.dir, it)).version);
const changelog = (name: string): string => copy.read(`packages/${name}/CHANGELOG.md`);
const change = (text: string, type: string): void =>
  writeFileSync(
    join(copy.dir, '.changeset', `of-this-test-${type}.md`),
    `---\n'@spillway/core': ${type}\n---\n\n${text}\n`,
  );

/** The version after this one: `0.1.0` after `0.0.0`. */
function nextMinor(version: string): string {
  const [major, minor] = version.split('.').map(Number);
  return `${major}.${Number(minor) + 1}.0`;
}

const before = readManifest(join(ROOT, 'packages', 'core')).version;

beforeAll(async () => {
  copy = await copyRepository();
  change('A change of this test.', 'minor');
  await copy.version();
  tarballs = await copy.pack();
}, 120_000);

afterAll(() => copy?.remove(), 120_000);

describe('a release', () => {
  it('gives all packages the same next version', () => {
    expect(new Set(versions())).toEqual(new Set([nextMinor(before)]));
    expect(copy.folders.length).toBeGreaterThan(10);
  });

  it.each(publicFolders().map((dir) => readManifest(dir).name.replace('@spillway/', '')))(
    'says in the changelog of %s what is in it, without commits',
    (name) => {
      const [title, newest = ''] = changelog(name).split(/^## /m);
      expect(title).toBe(`# @spillway/${name}\n\n`);
      expect(newest).toMatch(/^\d+\.\d+\.0\n\n### (Major|Minor|Patch) Changes\n\n- [A-Z`@]/);
      expect(newest).not.toMatch(/^- [0-9a-f]{7}\b|Updated dependencies/m);
    },
  );

  it('packs with each its changelog, its licence and its README', async () => {
    const names = ['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json'];
    for (const [name, path] of Object.entries(tarballs)) {
      const listed = (await execute('tar', ['-tzf', path], copy.dir)).split('\n');
      const missing = names.filter((it) => !listed.includes(`package/${it}`));
      expect(missing, name).toEqual([]);
    }
    expect(Object.keys(tarballs)).toHaveLength(copy.folders.length);
  });

  it('leaves no changeset behind, and the repository as it was', () => {
    expect(existsSync(join(copy.dir, '.changeset', 'of-this-test-minor.md'))).toBe(false);
    expect(changelog('core')).toContain('- A change of this test.');
    expect(readManifest(join(ROOT, 'packages', 'core')).version).toBe(before);
  });
});

describe.each(MANAGERS)('installed by $name', (manager) => {
  let app: App;

  beforeAll(async () => {
    const ours = Object.fromEntries(
      Object.entries(tarballs).map(([name, path]) => [name, `file:${path}`]),
    );
    app = await install(manager, ours, others(), FILES);
  }, 240_000);

  afterAll(() => app?.remove(), 120_000);

  it.each(['app.mjs', 'app.cjs'])('every adapter limits in %s', async (file) => {
    expect(await app.run(file)).toEqual(ANSWERS);
  });

  it('the command line starts', async () => {
    expect(await app.program('spillway', '--help')).toContain('Usage: spillway');
  });
});

/** What an app has beside our packages: the frameworks, at the versions of this repository. */
function others(): Wanted {
  const nest = pin(join(ROOT, 'packages', 'nestjs'), '@nestjs/platform-express');
  const pins = [nest, ...publicPackages().flatMap(({ peers }) => peers)];
  return Object.fromEntries(
    pins.map((it) => [it.slice(0, it.lastIndexOf('@')), it.slice(it.lastIndexOf('@') + 1)]),
  );
}

describe('the release after it', () => {
  it('names in every changelog what it comes with', async () => {
    change('Another change of this test.', 'patch');
    const [last = ''] = versions();
    await copy.version();
    const next = last.replace(/\.0$/, '.1');
    expect(new Set(versions())).toEqual(new Set([next]));
    expect(changelog('core')).toContain(
      `## ${next}\n\n### Patch Changes\n\n- Another change of this test.\n\n## ${last}\n`,
    );
    const page = 'https://github.com/spillway/spillway/blob/main/packages/core/CHANGELOG.md';
    expect(changelog('koa')).toContain(
      `## ${next}\n\n### Patch Changes\n\n- Comes with [@spillway/core ${next}](${page}).\n`,
    );
  });
});
