/** Which proxies are believed: those of our option, else those of Express' own setting `trust proxy`. */

import { isSpillwayError, type TrustProxy } from '@spillway/core';
import { compileTrust, type Notices, type Trust } from '@spillway/core/adapter';
import type { Request } from 'express';

/** A checked trust, or `express` where the app decides by a function: then its `req.ip` is taken. */
export type ExpressTrust = Trust | 'express';

interface Inherited {
  readonly setting: unknown;
  readonly trust: ExpressTrust;
}

const NOBODY: Trust = { kind: 'none' };

/**
 * Finds the trust for a request. A setting of the app that believes everyone, or that cannot be read, counts as none,
 * and
 * `notices` is told of it: a request must not fail for it.
 *
 * @throws SpillwayError `SPW_TRUST_PROXY_UNSAFE`, `SPW_CIDR_INVALID`, `SPW_TRUST_PROXY_INVALID` for an option of ours
 */
export function trustFinder(
  option: TrustProxy | undefined,
  notices: Notices,
): (request: Request) => ExpressTrust {
  if (option !== undefined) {
    const own = compileTrust(option);
    return () => own;
  }
  const apps = new WeakMap<object, Inherited>();
  return ({ app }) => {
    if (!app) return NOBODY; // under another framework that takes such middleware
    const setting: unknown = app.get('trust proxy');
    let known = apps.get(app);
    if (!known || known.setting !== setting) {
      known = { setting, trust: inherit(setting, notices) };
      apps.set(app, known);
    }
    return known.trust;
  };
}

function inherit(setting: unknown, notices: Notices): ExpressTrust {
  if (typeof setting === 'function') return 'express';
  const list =
    typeof setting === 'string' ? setting.split(',').map((part) => part.trim()) : setting;
  try {
    return compileTrust((list || false) as TrustProxy, "app.set('trust proxy')");
  } catch (error) {
    if (!isSpillwayError(error)) throw error;
    const { code, message } = error;
    notices.tell(code, () => `${message}. Until it is mended, no proxy is believed`);
    return NOBODY;
  }
}
