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
  readonly byExpress?: boolean;
}

interface Inherited {
  readonly setting: unknown;
  readonly addressing: ExpressAddressing;
}

/**
 * Returns a function that says how to find the client address of a request. An unsafe or invalid `trust proxy` of the
 * app doesn't fail requests: no proxy is trusted and `notices` gets a warning.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_TRUST_PROXY_UNSAFE`, `SPW_CIDR_INVALID`, `SPW_TRUST_PROXY_INVALID`
 *   for a wrong option of the adapter
 */
export function addressingFinder(
  options: AddressOptions,
  notices: Notices,
): (request: Request) => ExpressAddressing {
  const own = compileAddressing(options, notices, "app.set('trust proxy', 1)");
  if (options.trustProxy !== undefined) return () => own;
  const apps = new WeakMap<object, Inherited>();
  return ({ app }) => {
    if (typeof app?.get !== 'function') return own; // another framework that runs Express middleware
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
