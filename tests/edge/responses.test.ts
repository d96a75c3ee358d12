/** A guard adds its headers to responses of Bun and Deno, and changes nothing else in them. */

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { checkBuilt } from 'spillway-testkit/processes';
import { expect, it } from 'vitest';
import { program } from '../adapters/demos.js';

type Seen = Readonly<Record<string, readonly (readonly [string | null, string | null, string])[]>>;

const run = promisify(execFile);
const FILE = join(import.meta.dirname, 'responses.js');
// Open servers would keep the process running.
const PRINT = `import { responses } from ${JSON.stringify(FILE)};
console.log(JSON.stringify(await responses()));
(globalThis.Deno ?? process).exit();`;

it.each([
  ['Bun', [program('bun', '@oven', 'bin/bun'), '-e', PRINT]],
  ['Deno', [program('deno', '@deno', 'deno'), 'eval', '--ext=js', PRINT]],
] as const)(
  'on %s each client gets its own, also where a handler gives one response to all',
  async (runtime, [command, ...args]) => {
    checkBuilt('core');
    const { stdout } = await run(command, args, { cwd: import.meta.dirname });
    const seen: Seen = JSON.parse(stdout);
    for (const [path, clients] of Object.entries(seen)) {
      expect([path, clients.map(([, , left]) => left)]).toEqual([
        path,
        ['"a";r=8', '"a";r=7', '"a";r=6'],
      ]);
    }
    const one = (path: string) => seen[path]?.[0]?.slice(0, 2);
    expect(one('/none')).toEqual([null, '0']);
    expect(one('/typed-none')).toEqual(['text/html', '0']);
    expect(one('/text')).toEqual([expect.stringMatching(/^text\/plain;charset=utf-8$/i), '5']);
    expect(one('/typed-text')).toEqual(['text/html', '5']);
    expect(one('/bytes')).toEqual([runtime === 'Bun' ? 'application/octet-stream' : null, '5']);
  },
);
