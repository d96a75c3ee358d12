/** llms.txt, which language models read: its links lead somewhere, and it names every package and every quick start. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as core from '@spillway/core';
import * as outgoing from '@spillway/outgoing';
import { describe, expect, it } from 'vitest';
import { ROOT } from './snippets.js';

const text = readFileSync(join(ROOT, 'llms.txt'), 'utf8');
const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link);

/** Folders of packages that are published. */
const published = readdirSync(join(ROOT, 'packages')).filter((name) => {
  const manifest = readFileSync(join(ROOT, 'packages', name, 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { private?: boolean }).private !== true;
});

it('has a name and a summary first', () => {
  expect(text).toMatch(/^# Spillway\n\n> /);
});

it.each(links)('%s is there', (link) => {
  expect(existsSync(join(ROOT, link))).toBe(true);
});

describe('names', () => {
  it('every package that is published', () => {
    expect(links).toEqual(
      expect.arrayContaining(published.map((name) => `packages/${name}/README.md`)),
    );
  });

  it('every quick start', () => {
    const pages = readdirSync(join(ROOT, 'docs', 'start')).map((page) => `docs/start/${page}`);
    expect(links).toEqual(expect.arrayContaining(pages));
  });

  it('functions that there are', () => {
    const calls = [...text.matchAll(/`(\w+)\(\{/g)].map(([, name = '']) => name);
    expect(calls.length).toBeGreaterThan(6);
    const ofCore = calls.filter((name) => name !== 'spillway');
    expect(ofCore.filter((name) => !(name in core || name in outgoing))).toEqual([]);
  });
});
