/** The sources keep to the walls: see docs/how-it-works.md, "Modules and layers". */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../packaging/packages.js';
import { messageOf, offences } from './check-walls.js';
import { circles } from './circles.js';
import { doors, PROGRAMS } from './doors.js';
import { readTree } from './tree.js';
import { unusedExports } from './unused.js';
import { WALLS } from './walls.js';

const tree = readTree();

describe('imports', () => {
  it('keep to the table of rooms', () => {
    expect(offences(tree, WALLS).map(messageOf)).toEqual([]);
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

it('every export is used by another file or offered by a door', () => {
  const outside = new Set([...doors().map(({ file }) => file), ...PROGRAMS]);
  expect(unusedExports(tree, outside)).toEqual([]);
});
