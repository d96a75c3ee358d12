/** The sources keep to the walls: see docs/how-it-works.md, "Rooms". */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { messageOf, offences } from './check-walls.js';
import { circles } from './circles.js';
import { doors, PROGRAMS } from './doors.js';
import { ROOT, readTree } from './tree.js';
import { unusedExports } from './unused.js';
import { type Exception, KNOWN, KNOWN_UNUSED, WALLS } from './walls.js';

const tree = readTree();

describe('imports', () => {
  const found = offences(tree, WALLS);
  const isSame = (a: Exception, b: Exception): boolean => a.file === b.file && a.from === b.from;

  it('keep to the table of rooms', () => {
    const fresh = found.filter((offence) => !KNOWN.some((known) => isSame(known, offence)));
    expect(fresh.map(messageOf)).toEqual([]);
  });

  it('are exceptions only as long as they break a wall', () => {
    expect(KNOWN.filter((known) => !found.some((offence) => isSame(known, offence)))).toEqual([]);
  });

  it('make no circle of files', () => {
    expect(circles(tree)).toEqual([]);
  });
});

it('the page that explains the rooms has a line for each, with its floor', () => {
  const page = readFileSync(join(ROOT, 'docs', 'how-it-works.md'), 'utf8');
  const lines = [...page.matchAll(/^\| (\d) \| `(\w+)` \|/gm)];
  const explained = lines.map(([, floor, room]) => `${room}: ${floor}`);
  const rooms = Object.entries(WALLS['core']?.rooms ?? {});
  const inTable = rooms.filter(([room]) => !room.endsWith('.ts'));
  expect(explained.sort()).toEqual(inTable.map(([room, { floor }]) => `${room}: ${floor}`).sort());
});

describe('every export', () => {
  const outside = new Set([...doors().map(({ file }) => file), ...PROGRAMS]);
  const unused = unusedExports(tree, outside);

  it('is used by another file or offered by a door', () => {
    expect(unused.filter((name) => !KNOWN_UNUSED.includes(name))).toEqual([]);
  });

  it('is an exception only as long as nobody uses it', () => {
    expect(KNOWN_UNUSED.filter((name) => !unused.includes(name))).toEqual([]);
  });
});
