const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/**
 * The path of a request target, without the query; `/` if the path is empty. In the absolute form that clients send to
 * proxies, `http://host/path`, the path is `/path`.
 *
 * @example
 * ```ts
 * import { pathOf } from '@spillway/core/adapter';
 *
 * pathOf('/things?page=2'); // '/things'
 * pathOf('http://api.example/things'); // '/things'
 * ```
 */
export function pathOf(target: string): string {
  const local = target.startsWith('/') ? target : target.replace(ORIGIN, '');
  const end = local.search(/[?#]/);
  return (end < 0 ? local : local.slice(0, end)) || '/';
}

/** The host of an absolute target, with its port if it has one; empty if the target is a path. */
export function hostOf(target: string): string {
  return ORIGIN.exec(target)?.[0].split('//')[1] ?? '';
}

export function queryOf(target: string): string {
  const start = target.indexOf('?');
  if (start < 0) return '';
  const end = target.indexOf('#', start);
  return end < 0 ? target.slice(start + 1) : target.slice(start + 1, end);
}
