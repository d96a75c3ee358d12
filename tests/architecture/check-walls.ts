/** Holds the imports of a tree against the table of rooms. */

import type { Import } from './reader.js';
import { packageOf, type Tree, targetOf } from './tree.js';
import type { Package, Room } from './walls.js';

/** An import that the table does not allow. */
export interface Offence {
  readonly file: string;
  readonly from: string;
  readonly wall: string;
}

export function messageOf({ file, from, wall }: Offence): string {
  return `${file} imports '${from}': ${wall}`;
}

/** Every import that the table does not allow, and every room that it does not know. */
export function offences(tree: Tree, walls: Readonly<Record<string, Package>>): Offence[] {
  return [...tree].flatMap(([file, { imports }]) =>
    imports.flatMap((taken) => {
      const wall = wallBefore(file, taken, walls);
      return wall === undefined ? [] : [{ file, from: taken.from, wall }];
    }),
  );
}

function wallBefore(
  file: string,
  taken: Import,
  walls: Readonly<Record<string, Package>>,
): string | undefined {
  const name = packageOf(file);
  const ours = walls[name];
  if (!ours) return `the package ${name} is not in the table`;
  const from = ours.rooms ? roomIn(ours.rooms, file) : undefined;
  if (typeof from === 'string') return from;
  const target = targetOf(file, taken);
  if (target === undefined) return wallOfPackages(name, ours, from, taken);
  if (packageOf(target) !== name || !target.startsWith(`packages/${name}/src/`)) {
    return `other packages are imported by their names`;
  }
  if (!ours.rooms || !from) return undefined;
  const to = roomIn(ours.rooms, target);
  return typeof to === 'string' ? to : wallBetween(from, to);
}

interface NamedRoom extends Room {
  readonly name: string;
}

/** The room in which a file lies, or what is wrong with it. */
function roomIn(rooms: Readonly<Record<string, Room>>, file: string): NamedRoom | string {
  const name = file.split('/')[3] ?? '';
  const room = rooms[name];
  return room ? { ...room, name } : `the room ${name} is not in the table`;
}

function wallBetween(from: NamedRoom, to: NamedRoom): string | undefined {
  if (from.name === to.name) return undefined;
  if (from.only) {
    return from.only.includes(to.name)
      ? undefined
      : `${from.name} uses nothing but ${from.only.join(', ')}`;
  }
  if (to.floor < from.floor || from.beside?.includes(to.name)) return undefined;
  return `${from.name} (floor ${from.floor}) is not above ${to.name} (floor ${to.floor})`;
}

function wallOfPackages(
  name: string,
  { uses, outside }: Package,
  room: NamedRoom | undefined,
  { from, values: taken }: Import,
): string | undefined {
  if (from.startsWith('spillway-')) return 'private packages are for tests';
  if (!from.startsWith('@spillway/')) {
    const allowed = room?.outside ?? outside;
    if (!allowed || allowed.includes(from)) return undefined;
    return `${room?.name ?? name} imports ${allowed.join(', ') || 'nothing'} from outside`;
  }
  if (!uses.includes(from))
    return `${name} uses nothing of ours but ${uses.join(', ') || 'itself'}`;
  if (!room?.values) return undefined;
  const { values } = room;
  const isAllowed = taken !== '*' && taken.every((name) => values.includes(name));
  const rest = values.length === 0 ? '' : ` and ${values.join(', ')}`;
  return isAllowed ? undefined : `${room.name} takes only types${rest} from our other packages`;
}
