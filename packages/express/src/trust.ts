/** Which proxies are believed: those of our option, else those of Express' own setting `trust proxy`. */

import { isSpillwayError, type TrustProxy } from '@spillway/core';
import {
  type Addressing,
  type AddressOptions,
  compileAddressing,
  compileTrust,
  type Notices,
  type Trust,
} from '@spillway/core/adapter';
import type { Request } from 'express';

export interface ExpressAddressing extends Addressing {
  /** Whether the app decides by a function: then its `req.ip` is taken. */
  readonly byExpress?: boolean;
}

interface Inherited {
  readonly setting: unknown;
  readonly addressing: ExpressAddressing;
}

const NOBODY: Trust = { kind: 'none' };

/**
 * Finds how the address of a request is found. A setting of the app that believes everyone, or that cannot be read,
 * counts as none, and `notices` is told of it: a request must not fail for it.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_TRUST_PROXY_UNSAFE`, `SPW_CIDR_INVALID`, `SPW_TRUST_PROXY_INVALID` for
 * an option of ours
 */
export function addressingFinder(
  options: AddressOptions,
  notices: Notices,
): (request: Request) => ExpressAddressing {
  const own = compileAddressing(options);
  if (options.trustProxy !== undefined) return () => own;
  const apps = new WeakMap<object, Inherited>();
  return ({ app }) => {
    if (typeof app?.get !== 'function') return own; // under another framework that takes such middleware
    const setting: unknown = app.get('trust proxy');
    let known = apps.get(app);
    if (!known || known.setting !== setting) {
      const byExpress = typeof setting === 'function';
      const trust = byExpress ? NOBODY : inherit(setting, notices);
      known = { setting, addressing: { trust, ipv6Prefix: own.ipv6Prefix, byExpress } };
      apps.set(app, known);
    }
    return known.addressing;
  };
}

function inherit(setting: unknown, notices: Notices): Trust {
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
