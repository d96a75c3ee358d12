import { SpillwayError } from './errors.js';

/**
 * The names of a type's options, for `checkNames`. The compiler rejects a list with a missing or an additional name.
 */
export type NamesOf<Options> = { readonly [Name in keyof Options]-?: 1 };

/** For each place, its options that are often passed elsewhere. */
const PLACES: Readonly<Record<string, string>> = {
  'the limiter, as in rateLimit()':
    'limit plan window burst algorithm anchor penalty overage status key cost refundIf name share',
  'the guard':
    'skip headers onRejected onDecision onFault store onStoreError storeTimeout denialCache trustProxy ipv6Prefix clientIp control observers logger validate preflights mode limiters',
  'shedders, and of schedule()': 'priority',
  'redisStore()': 'prefix hashKeys',
  'the Fastify plugin': 'groups',
};

export type OtherPlace = readonly [place: string, names: object];

export function checkNames(of: string, options: object, names: object, other?: OtherPlace): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || Object.hasOwn(names, name)) continue;
    throw new SpillwayError(
      'SPW_OPTION_UNKNOWN',
      `${of} has no option "${name.slice(0, 60)}": ${mendFor(name, of, names, other)}`,
    );
  }
}

function mendFor(name: string, of: string, names: object, other: OtherPlace | undefined): string {
  const place = other && Object.hasOwn(other[1], name) ? other[0] : placeOf(name);
  if (place && place !== of) return `"${name}" is an option of ${place}`;
  const near = nearest(name, Object.keys(names));
  if (near) return `did you mean "${near}"?`;
  const far = nearest(name, Object.values(PLACES).join(' ').split(' ')) ?? '';
  const home = placeOf(far);
  if (home && home !== of) return `did you mean "${far}" of ${home}?`;
  return `it has ${Object.keys(names).sort().join(', ')}`;
}

function placeOf(name: string): string | undefined {
  return Object.keys(PLACES).find((place) => PLACES[place]?.split(' ').includes(name));
}

function nearest(name: string, names: readonly string[]): string | undefined {
  const { length } = name;
  if (length > 40) return undefined;
  let best: string | undefined;
  // Two swapped letters count as two changes. The limit allows two changes in names of five letters or more.
  let least = Math.max(1, length / 2.5);
  for (const own of names) {
    const changes = distance(name.toLowerCase(), own.toLowerCase());
    if (changes < least || (changes === least && best === undefined)) {
      best = own;
      least = changes;
    }
  }
  return best;
}

/** Levenshtein distance: letters to insert, delete or replace (V. I. Levenshtein, "Binary codes", 1966). */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (const [at, letter] of [...from].entries()) {
    const above = row;
    row = [at + 1];
    for (let i = 0; i < to.length; i += 1) {
      const changed = (above[i] as number) + (letter === to[i] ? 0 : 1);
      row.push(Math.min(changed, (above[i + 1] as number) + 1, (row[i] as number) + 1));
    }
  }
  return row[to.length] as number;
}
