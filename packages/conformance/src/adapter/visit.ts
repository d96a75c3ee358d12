/** Sends one check's requests to a service, by default as new callers, and asserts what the service replies. */

import { claim, field, hasFields, hasStatus, pause, same } from './assertions.js';
import {
  isWithin,
  limitField,
  policyField,
  problemText,
  type Quotas,
  REMEMBERED,
  type Refusal,
  waitOf,
  withoutTime,
} from './policies.js';
import type { AdapterSettings } from './target.js';
import type { Ask, Opened, Reply, Wire } from './wire.js';

const SHED_PATIENCE_MS = 20_000;

export class Visit {
  private readonly startMs = performance.now();
  readonly wire: Wire;
  readonly settings: AdapterSettings;

  constructor(wire: Wire, settings: AdapterSettings) {
    this.wire = wire;
    this.settings = settings;
  }

  /** A new caller. By default, its API key and address are new; with the key null it sends no API key. */
  caller(given: { readonly key?: string | null; readonly address?: string } = {}): Caller {
    const { key = newKey(), address = newIPv6() } = given;
    return new Caller(this, key, address);
  }

  /**
   * Sends a request. Retries it for up to 20 s if the worker shedder answers with 503, or if the store was late with an
   * idempotency key. Both happen on a busy machine.
   */
  async openReply(path: string, ask: Ask): Promise<Opened> {
    const end = performance.now() + SHED_PATIENCE_MS;
    for (;;) {
      const opened = await this.wire.openReply(path, ask);
      const isShed = opened.reply.status === 503 && isShedForNow(await opened.rest(), opened);
      if (!isShed || performance.now() > end) return opened;
      await pause(100);
    }
  }

  showsPassed(reply: Reply, status: number, quotas: Quotas): void {
    hasStatus(reply, status);
    this.showsQuotas(reply, quotas);
    hasFields(reply, { 'retry-after': undefined, 'cache-control': undefined });
  }

  /** Asserts that a reply is the given rejection. A reply to HEAD must have the length of the body, but no body. */
  showsRefusal(reply: Reply, refusal: Refusal, quotas: Quotas | undefined): void {
    hasStatus(reply, refusal.status);
    this.showsQuotas(reply, quotas);
    this.showsProblem(reply, refusal);
  }

  /** Like {@link showsRefusal}, but allows a cached rejection, which shows only the limit per address. */
  showsRefusalAgain(reply: Reply, refusal: Refusal, quotas: Quotas): void {
    if (field(reply, 'ratelimit-policy') !== REMEMBERED.policy) {
      this.showsRefusal(reply, refusal, quotas);
      return;
    }
    hasStatus(reply, refusal.status);
    const shown = withoutTime(field(reply, 'ratelimit'), REMEMBERED.limit, this.elapsedMs);
    same(`${reply.request} (${reply.status}), ratelimit`, shown, REMEMBERED.limit);
    this.showsProblem(reply, refusal);
  }

  private showsProblem(reply: Reply, refusal: Refusal): void {
    const wait = field(reply, 'retry-after') ?? '';
    const seconds = Number(wait);
    const longest = waitOf(refusal);
    const isTold = refusal.detail.reason === 'rate' ? this.isDue(seconds, longest) : seconds >= 1;
    claim(
      /^\d+$/.test(wait) && seconds <= longest && isTold,
      () => `${reply.request}: expected Retry-After of about ${longest}, got ${wait}`,
    );
    const text = problemText(refusal, seconds);
    hasFields(reply, {
      'cache-control': 'no-store',
      'content-type': 'application/problem+json',
    });
    if (this.settings.lengths || field(reply, 'content-length') !== undefined) {
      hasFields(reply, { 'content-length': String(text.length) });
    }
    const body = reply.request.startsWith('HEAD ') ? '' : text;
    same(`${reply.request} (${reply.status}), body`, reply.body, body);
  }

  /**
   * Asserts the rate limit headers of a reply, or that it has none if `quotas` is undefined. Limits of the first guard
   * come first.
   */
  showsQuotas(reply: Reply, quotas: Quotas | undefined): void {
    const legacy = reply.lines.filter(([name]) => name.startsWith('x-ratelimit-'));
    same(`${reply.request}, legacy fields`, legacy, []);
    const expected = quotas && limitField(quotas);
    const actual = field(reply, 'ratelimit');
    const shown = expected ? withoutTime(actual, expected, this.elapsedMs) : actual;
    same(`${reply.request} (${reply.status}), ratelimit`, shown, expected);
    hasFields(reply, { 'ratelimit-policy': quotas && policyField(quotas) });
  }

  private isDue(seconds: number, wanted: number): boolean {
    return isWithin(seconds, wanted, this.elapsedMs);
  }

  private get elapsedMs(): number {
    return performance.now() - this.startMs;
  }
}

export class Caller {
  readonly headers: Readonly<Record<string, string>>;
  private readonly visit: Visit;
  readonly key: string | null;
  readonly address: string;

  constructor(visit: Visit, key: string | null, address: string) {
    this.visit = visit;
    this.key = key;
    this.address = address;
    const from = { [visit.settings.addressHeader]: address };
    this.headers = key === null ? from : { ...from, 'x-api-key': key };
  }

  async ask(path: string, ask: Ask = {}): Promise<Reply> {
    const { reply, rest } = await this.open(path, ask);
    return { ...reply, body: await rest() };
  }

  open(path: string, { headers, ...ask }: Ask = {}): Promise<Opened> {
    return this.visit.openReply(path, { ...ask, headers: { ...this.headers, ...headers } });
  }

  async passes(path: string, quotas: Quotas, ask: Ask = {}, status = 200): Promise<Reply> {
    const reply = await this.ask(path, ask);
    this.visit.showsPassed(reply, status, quotas);
    return reply;
  }

  async refused(path: string, refusal: Refusal, quotas: Quotas, ask: Ask = {}): Promise<Reply> {
    const reply = await this.ask(path, ask);
    this.visit.showsRefusal(reply, refusal, quotas);
    return reply;
  }

  async refusedAgain(path: string, refusal: Refusal, quotas: Quotas, ask: Ask = {}): Promise<void> {
    this.visit.showsRefusalAgain(await this.ask(path, ask), refusal, quotas);
  }

  /** Starts a stream that lasts a minute unless it is aborted, and asserts the remaining quotas while it runs. */
  async streams(quotas?: Quotas): Promise<Opened> {
    const opened = await this.open('/stream?chunks=600');
    const { reply } = opened;
    if (quotas) this.visit.showsPassed(reply, 200, quotas);
    hasStatus(reply, 200);
    return opened;
  }
}

function isShedForNow(body: string, { reply }: Opened): boolean {
  return reply.request.startsWith('HEAD ')
    ? !reply.lines.some(([name]) => name === 'ratelimit')
    : body.includes('["workers"]') || body.includes('["once"]');
}

function newKey(): string {
  return `conformance-${crypto.randomUUID()}`;
}

/** An address in a random private /64 network, which no other check uses. */
export function newIPv6(host = '1'): string {
  const digits = crypto.randomUUID().replaceAll('-', '');
  return `fd${digits.slice(0, 2)}:${digits.slice(2, 6)}:${digits.slice(6, 10)}:${digits.slice(16, 20)}::${host}`;
}

export function newIPv4(): string {
  const byte = (): number => Math.floor(Math.random() * 256);
  return `10.${byte()}.${byte()}.${byte()}`;
}
