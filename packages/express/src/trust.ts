/** Which proxies are believed: those of our option, else those of Express' own setting `trust proxy`. */

import { isSpillwayError, type NoticeCode, type TrustProxy } from '@spillway/core';
import {
  type Addressing,
  type AddressOptions,
  compileAddressing,
  compileTrust,
  type Notices,
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

/**
 * Finds how the address of a request is found. A setting of the app that believes everyone, or that cannot be read,
 * counts as none, and `notices` is told of it: a request must not fail for it.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_TRUST_PROXY_UNSAFE`, `SPW_CIDR_INVALID`, `SPW_TRUST_PROXY_INVALID`
 * for an option of ours
 */
export function addressingFinder(
  options: AddressOptions,
  notices: Notices,
): (request: Request) => ExpressAddressing {
  const own = compileAddressing(options, notices, "app.set('trust proxy', 1)");
  if (options.trustProxy !== undefined) return () => own;
  const apps = new WeakMap<object, Inherited>();
  return ({ app }) => {
    if (typeof app?.get !== 'function') return own; // under another framework that takes such middleware
    const setting: unknown = app.get('trust proxy');
    let known = apps.get(app);
    if (!known || known.setting !== setting) {
      known = { setting, addressing: inherit(setting, own, notices) };
      apps.set(app, known);
    }
    return known.addressing;
  };
}

function inherit(setting: unknown, own: Addressing, notices: Notices): ExpressAddressing {
  const { ipv6Prefix, watch } = own;
  const nobody: ExpressAddressing = { trust: { kind: 'none' }, ipv6Prefix };
  if (typeof setting === 'function') return { ...nobody, byExpress: true };
  const list =
    typeof setting === 'string' ? setting.split(',').map((part) => part.trim()) : setting;
  try {
    const trust = compileTrust((list || false) as TrustProxy, "app.set('trust proxy')");
    return { trust, ipv6Prefix, watch };
  } catch (error) {
    if (!isSpillwayError(error)) throw error;
    const { code, message } = error;
    notices.tell(code as NoticeCode, `${message}. Until you change it, no proxy is trusted`);
    return nobody;
  }
}
