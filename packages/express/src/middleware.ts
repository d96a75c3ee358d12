import {
  type Admission,
  canonicalAddress,
  type GuardOptions,
  isSpillwayError,
  type Limiter,
  type NoticeCode,
  type TrustProxy,
} from '@spillway/core';
import {
  type Addressing,
  type AddressOptions,
  clientAddress,
  compileAddressing,
  compileTrust,
  Gate,
  type GuardHandle,
  isLater,
  type Notices,
  type OwnNames,
  type Passage,
  showGuard,
  type Trust,
} from '@spillway/core/adapter';
import { NodeExchange, NodeLimitRequest } from '@spillway/core/node';
import type { NextFunction, Request, RequestHandler, Response } from 'express';

/** Options of the adapter. */
export interface SpillwayOptions extends GuardOptions<Request>, AddressOptions {
  /**
   * Answers a rejected request instead of the problem document. Status and headers are already set, except
   * `Content-Type`. If it throws or calls `next(error)`, the app's error handler answers, with status 500. If it
   * doesn't begin to answer within 10 s, or calls `next()`, the problem document is sent.
   */
  readonly onRejected?:
    | ((admission: Admission, req: Request, res: Response, next: NextFunction) => unknown)
    | undefined;
}

const OWN: OwnNames<SpillwayOptions> = { onRejected: 1 };

/** The middleware, with `close` and `inProgress` of its guard. Routes after it keep the types of their requests. */
export interface SpillwayHandler extends GuardHandle {
  <Params, ResBody, ReqBody, Query, Locals extends Record<string, unknown>>(
    req: Request<Params, ResBody, ReqBody, Query, Locals>,
    res: Response<ResBody, Locals>,
    next: NextFunction,
  ): void;
}

/**
 * Express middleware: a request passes if every limiter admits it, and is otherwise rejected, for example with 429 or
 * 503.
 *
 * Without the option `trustProxy`, the app's setting `trust proxy` applies. While that setting is `true`, a list of all
 * addresses, or invalid, no proxy is trusted, and `logger` gets one warning.
 *
 * @throws SpillwayError for wrong options, and as `createGuard` does
 * @example
 * ```ts
 * import { rateLimit, spillway } from '@spillway/express';
 *
 * app.use(spillway(rateLimit({ limit: 100, window: '1m' })));
 * ```
 */
export function spillway(
  limiters: Limiter<Request> | readonly Limiter<Request>[],
  options: SpillwayOptions = {},
): SpillwayHandler {
  const gate = new Gate<Request>(limiters, options, OWN).expectRequests();
  const { onRejected } = options;
  const addressingOf = addressingFinder(options, gate.notices);

  const applyPassage = (
    passage: Passage,
    exchange: NodeExchange,
    req: Request,
    res: Response,
    next: NextFunction,
  ): void => {
    if (passage === 'pass') next();
    else if (passage === 'rejected' && onRejected) {
      try {
        exchange.answerWith(ownAnswer(onRejected, req, res, next), gate.report)?.catch(next);
      } catch (error) {
        next(error);
      }
    }
  };

  const handle: RequestHandler = (req, res, next) => {
    const exchange = new NodeExchange(req, res, onRejected !== undefined);
    const request = new ExpressRequest(req, addressingOf(req));
    const passage = gate.enter(request, exchange, req);
    if (isLater(passage)) passage.then((value) => applyPassage(value, exchange, req, res, next));
    else applyPassage(passage, exchange, req, res, next);
  };
  return showGuard(handle as SpillwayHandler, gate);
}

/** Runs `onRejected` with a `next` that can only reach the app's error handler. */
function ownAnswer(
  onRejected: NonNullable<SpillwayOptions['onRejected']>,
  req: Request,
  res: Response,
  next: NextFunction,
): Parameters<NodeExchange['answerWith']>[0] {
  return (admission, own) => {
    const noNext: NextFunction = (error?: unknown) => {
      // `next('route')` would continue with the next route of this path.
      if (!error || error === 'route' || error === 'router') own.wentOn();
      else if (own.failed(error)) next(error);
    };
    // `res.sendFile` calls `req.next` if the path is a directory.
    req.next = noNext;
    return onRejected(admission, req, res, noNext);
  };
}

/** Reads `req.ip` like an entry of X-Forwarded-For, because it may come from this header and have a port. */
const ONE_HOP: Trust = { kind: 'hops', hops: 1 };

class ExpressRequest extends NodeLimitRequest<Request> {
  private readonly believed: ExpressAddressing;

  constructor(raw: Request, believed: ExpressAddressing) {
    super(raw, raw, believed);
    this.believed = believed;
  }

  override get route(): string | undefined {
    const path: unknown = this.raw.route?.path;
    // Express matches mount paths case-insensitively but reports them as the client spelled them.
    return typeof path === 'string' ? this.raw.baseUrl.toLowerCase() + path : undefined;
  }

  protected override findAddress(): string | undefined {
    const { byExpress, ipv6Prefix } = this.believed;
    if (!byExpress) return super.findAddress();
    return canonicalAddress(clientAddress(ONE_HOP, undefined, this.expressAddress()), ipv6Prefix);
  }

  private expressAddress(): string | undefined {
    try {
      return this.raw.ip;
    } catch {
      return undefined; // the app's trust function threw
    }
  }
}

interface ExpressAddressing extends Addressing {
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
function addressingFinder(
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
