/** The table of modules ("rooms") as rules of dependency-cruiser, which reads every import, types included. */

import { cruise, type ICruiseResult, type IRegularForbiddenRuleType } from 'dependency-cruiser';
import type { Package, Room } from './walls.js';

type Walls = Readonly<Record<string, Package>>;
type Rule = IRegularForbiddenRuleType;

/** The imports in `root` that violate the table, one per line: `rule: file -> file`. */
export async function offences(root: string, walls: Walls): Promise<string[]> {
  const { output } = await cruise(
    ['packages'],
    {
      baseDir: root,
      exclude: { path: '^packages/(testkit/|[^/]+/(?!src(/|$)))' },
      doNotFollow: { path: '(^|/)(node_modules|dist)/' },
      tsPreCompilationDeps: true,
      ruleSet: { forbidden: rulesOf(walls) },
      validate: true,
    },
    {
      conditionNames: ['@spillway/source', 'types', 'import', 'default'],
      exportsFields: ['exports'],
    },
  );
  const { violations } = (output as ICruiseResult).summary;
  const lines = violations.map(({ rule, from, to, cycle }) =>
    [`${rule.name}: ${from}`, ...(cycle ? cycle.map(({ name }) => name) : [to])].join(' -> '),
  );
  return [...new Set(lines)].sort();
}

function rulesOf(walls: Walls): Rule[] {
  const known = Object.keys(walls).map(sourcesOf);
  return [
    rule('a circle', {}, { circular: true }),
    rule('not found', {}, { couldNotResolve: true }),
    rule('a package without a line in the table', { path: '^packages/', pathNot: known }, {}),
    ...Object.entries(walls).flatMap(([name, its]) => [
      ...rulesOfPackage(name, its),
      ...Object.entries(its.rooms ?? {}).flatMap(([room, of]) => rulesOfRoom(name, its, room, of)),
    ]),
  ];
}

function rulesOfPackage(name: string, { uses, outside, rooms }: Package): Rule[] {
  const own = sourcesOf(name);
  const inRooms = Object.keys(rooms ?? {}).map((room) => filesOf(name, room));
  const apart = Object.entries(rooms ?? {}).filter(([, { outside }]) => outside);
  const pathNot = apart.map(([room]) => filesOf(name, room));
  return [
    rule(
      `${name} uses other packages by the doors in the table`,
      { path: own },
      { path: '^packages/', pathNot: [own, ...uses.map(doorOf)] },
    ),
    rule(
      `${name} imports other packages by their names`,
      { path: own },
      { path: '^packages/', pathNot: own, dependencyTypes: ['local'] },
    ),
    ...(rooms
      ? [rule(`a room of ${name} without a line in the table`, { path: own, pathNot: inRooms }, {})]
      : []),
    ...(outside
      ? [
          rule(
            `${name} imports from outside what the table says`,
            { path: own, pathNot },
            outsideBut(outside),
          ),
        ]
      : []),
  ];
}

function rulesOfRoom(name: string, { rooms = {} }: Package, room: string, its: Room): Rule[] {
  const from = { path: filesOf(name, room) };
  const mayUse = Object.keys(rooms).filter((other) =>
    its.only
      ? its.only.includes(other)
      : (rooms[other]?.floor ?? 0) < its.floor || its.beside?.includes(other),
  );
  const allowed = [room, ...mayUse].map((other) => filesOf(name, other));
  return [
    rule(`${name}/${room} imports from the rooms below`, from, {
      path: sourcesOf(name),
      pathNot: allowed,
    }),
    ...(its.outside
      ? [
          rule(
            `${name}/${room} imports from outside what the table says`,
            from,
            outsideBut(its.outside),
          ),
        ]
      : []),
    ...(its.values
      ? [
          rule(
            `${name}/${room} takes only types from other packages`,
            { ...from, pathNot: its.values.map((file) => filesOf(name, file)) },
            { path: '^packages/', pathNot: sourcesOf(name), dependencyTypesNot: ['type-only'] },
          ),
        ]
      : []),
  ];
}

function rule(name: string, from: Rule['from'], to: Rule['to']): Rule {
  return { name, severity: 'error', from, to };
}

const sourcesOf = (name: string): string => `^packages/${name}/src/`;

const filesOf = (name: string, room: string): string =>
  `^packages/${name}/src/${room.replace('.', '\\.')}${room.endsWith('.ts') ? '$' : '/'}`;

/** The source of an entry point: `@spillway/core/store` is `packages/core/src/store.ts`. */
function doorOf(door: string): string {
  const [, name, entry = 'index'] = door.split('/');
  return `^packages/${name}/src/${entry}\\.ts$`;
}

/** Matches third-party imports, except the allowed ones: `node:http`, in dependency-cruiser's form, or a package. */
function outsideBut(allowed: readonly string[]): Rule['to'] {
  const paths = allowed.map((from) =>
    from.startsWith('node:') ? `^${from.slice(5)}$` : `(^|/)node_modules/${from}/`,
  );
  return { pathNot: ['^packages/', ...paths] };
}
