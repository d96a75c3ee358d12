/** The workflows: pinned, with few rights, and with commands that exist. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}
interface Workflow {
  readonly permissions: unknown;
  readonly jobs: Readonly<Record<string, { permissions?: object; if?: string; steps: Step[] }>>;
}

const FOLDER = join(ROOT, '.github', 'workflows');
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const workflows = readdirSync(FOLDER).map((file) => {
  const text = readFileSync(join(FOLDER, file), 'utf8');
  return { file, text, workflow: parse(text) as Workflow };
});

describe.each(workflows)('$file', ({ text, workflow }) => {
  const steps = Object.values(workflow.jobs).flatMap((job) => job.steps);

  it('takes every action at one commit', () => {
    const used = steps.flatMap(({ uses }) => uses ?? []);
    expect(used.filter((name) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/.test(name))).toEqual([]);
  });

  it('may only read, unless a job says otherwise', () => {
    expect(workflow.permissions).toEqual({ contents: 'read' });
  });

  it('runs scripts of package.json that there are', () => {
    const lines = steps.flatMap((step) => [step.run, ...Object.values(step.with ?? {})]);
    const named = lines.flatMap((line) => [...String(line ?? '').matchAll(/npm run (\S+)/g)]);
    expect(named.map(([, name = '']) => name).filter((name) => !(name in scripts))).toEqual([]);
  });

  it('knows no secret but those of a release', () => {
    const secrets = [...text.matchAll(/secrets\.(\w+)/g)].map(([, name]) => name);
    expect(['GITHUB_TOKEN', 'NPM_TOKEN']).toEqual(expect.arrayContaining(secrets));
  });
});

it('lets only the jobs that publish say who we are, in our own repository', () => {
  const jobs = workflows.flatMap(({ workflow }) => Object.entries(workflow.jobs));
  const trusted = jobs.filter(([, job]) => 'id-token' in (job.permissions ?? {}));
  expect(trusted.map(([name, job]) => [name, job.if])).toEqual([
    ['deploy', "github.repository == 'spillway/spillway'"],
    ['release', "github.repository == 'spillway/spillway'"],
  ]);
});
