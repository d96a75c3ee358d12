/** Which proxies are believed: those of our option, else those of Express' own setting `trust proxy`. */

import {
  compileTrust,
  isSpillwayError,
  type SpillwayError,
  type Trust,
  type TrustProxy,
} from '@spillway/core';
import type { Request } from 'express';

/** A checked trust, or `express` where the app decides by a function: then its `req.ip` is taken. */
export type Believed = Trust | 'express';

interface Inherited {
  readonly setting: unknown;
  readonly trust: Believed | SpillwayError;
}

/**
 * Finds the trust for a request; an error where the app believes everyone, or proxies that cannot be read.
 *
 * @throws SpillwayError `SPW_TRUST_PROXY_UNSAFE`, `SPW_CIDR_INVALID`, `SPW_TRUST_PROXY_INVALID` for an option of ours
 */
export function trustFinder(
  option: TrustProxy | undefined,
): (request: Request) => Believed | SpillwayError {
  if (option !== undefined) {
    const own = compileTrust(option);
    return () => own;
  }
  const apps = new WeakMap<object, Inherited>();
  return ({ app }) => {
    if (!app) return { kind: 'none' }; // under another framework that takes such middleware
    const setting: unknown = app.get('trust proxy');
    let known = apps.get(app);
    if (!known || known.setting !== setting) {
      known = { setting, trust: inherit(setting) };
      apps.set(app, known);
    }
    return known.trust;
  };
}

function inherit(setting: unknown): Believed | SpillwayError {
  if (typeof setting === 'function') return 'express';
  const list =
    typeof setting === 'string' ? setting.split(',').map((part) => part.trim()) : setting;
  try {
    return compileTrust((list || false) as TrustProxy, "app.set('trust proxy')");
  } catch (error) {
    if (isSpillwayError(error)) return error;
    throw error;
  }
}
