/**
 * What users can import is a decision: doors.txt lists every name that an entry point (door) exports. To change it on
 * purpose, edit the file, or let the test write it: `npx vitest run tests/architecture -u`.
 */

import { describe, expect, it } from 'vitest';
import { doors, exportsOf } from './doors.js';

it('the doors offer what doors.txt lists', async () => {
  const lists = doors().map((door) => [door.name, ...exportsOf(door)].join('\n  '));
  await expect(`${lists.join('\n\n')}\n`).toMatchFileSnapshot('doors.txt');
});

describe.each(doors())('$name', (door) => {
  it('has the values that are read from its source', async () => {
    const stars = exportsOf(door).filter((line) => line.startsWith('everything of '));
    const handedOn = await Promise.all(
      stars.map(async (line) => Object.keys(await import(line.slice('everything of '.length)))),
    );
    const own = exportsOf(door).filter((line) => !line.includes(' '));
    const values = new Set([...handedOn.flat(), ...own]);
    expect(Object.keys(await import(door.name)).sort()).toEqual([...values].sort());
  });
});
