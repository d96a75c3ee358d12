/** A program that compiles only if every option that may be left out may be undefined: `{ burst: config.burst }`. */

import { doors, exportsOf } from '../architecture/doors.js';

/** The options that apps write: every exported type with such a name, except those for adapters and tests only. */
const OPTIONS = /^type (?!Gate|Address|Peer)(\w+Options)$/;
const isForApps = (door: string): boolean => !door.startsWith('@spillway/conformance');

export function programOfOptions(): string {
  const types = doors()
    .filter(({ name }) => isForApps(name))
    .flatMap((door) =>
      exportsOf(door).map((line) => ({ door: door.name, name: OPTIONS.exec(line)?.[1] })),
    );
  const checks = types.flatMap(({ door, name }, i) => {
    if (!name) return [];
    const type = ['KeyedLimiterOptions', 'LimitersOptions'].includes(name)
      ? `T${i}<Store>`
      : `T${i}`;
    return `import type { ${name} as T${i} } from '${door}';
      export type ${name}${i} = None<Strict<${type}>>;`;
  });
  return `
    import { rateLimit, type Store } from '@spillway/core';
    type Strict<T> = T extends unknown ? { [K in keyof T]-?: {} extends Pick<T, K>
      ? { [P in K]: undefined } extends Pick<T, K> ? never : K
      : never }[keyof T] : never;
    type None<K extends never> = K;
    // @ts-expect-error: what the check is for
    export type Wrong = None<Strict<{ a?: 1, b?: 2 | undefined }>>;
    export type Right = None<Strict<{ a: 1, b?: 2 | undefined }>>;
    ${checks.join('\n')}
    declare const cfg: { readonly burst: number | undefined };
    export const limiter = rateLimit({ limit: 1, window: '1m', burst: cfg.burst });`;
}
