import type { Answer, Clock, Step, Store } from '@spillway/core';
import { checkOptions, mustBe, type NamesOf } from '@spillway/core/adapter';
import {
  type ApplyOptions,
  askParts,
  bytesOfText,
  checkValue,
  isEnd,
  MAX_LIMITERS,
  MAX_STEPS,
  partsOf,
  remoteStore,
  spread,
  systemClock,
  textOfBytes,
  tooLarge,
  uniqueGroup,
  type ValueName,
  type Values,
} from '@spillway/core/store';
import { noReply, tooLate } from '../failures.js';
import type { ObjectNamespace } from '../platform.js';
import { plainStep } from '../wire/calls.js';
import { objectCalls, type SendCall } from './object-calls.js';
import { objectNamer } from './object-namer.js';

/**
 * How long a rejection is cached at most. The time is short, because the rejection may be due to charges of another
 * request that are refunded a moment later, when another object rejects that request.
 */
const DENIALS_LAST_US = 1_000_000;

/**
 * How much the clocks of two machines of the platform may differ. A call that arrives more than this time after its
 * deadline charges nothing.
 */
const SKEW_US = 1_000_000;

/** Options of {@link durableObjectStore}; all are optional. */
export interface DurableObjectStoreOptions {
  /**
   * A secret with which keys are hashed (HMAC-SHA-256) to name objects. Without it, SHA-256 is used, which does not
   * hide guessable keys, such as addresses.
   */
  readonly hashKeys?: string | Uint8Array | undefined;
  /**
   * Where new objects are created, such as `'weur'`: one of Cloudflare's location hints. Default: near the first
   * request of a key.
   */
  readonly locationHint?: string | undefined;
}

const NAMES: NamesOf<DurableObjectStoreOptions> = { hashKeys: 1, locationHint: 1 };

/** The result of {@link durableObjectStore}. */
export interface DurableObjectStore extends Store {
  readonly sync: false;
  /** Values are stored in the object of their key. Each has at most 1 MiB. */
  readonly values: Values;
  register(limiter: string): void;
  apply(steps: readonly Step[], options?: ApplyOptions): Promise<readonly Answer[]>;
}

/**
 * Keeps counts in Durable Objects, shared by all isolates of a Worker. Each key has its own object, which decides all
 * limits of the key atomically and stores the result before it answers. If a request has several keys, several objects
 * decide. If one of them rejects or fails, the charges in the others are refunded.
 *
 * @param namespace the binding to `RateLimitObject`, or its `jurisdiction('eu')`, which keeps the objects in the EU
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 * @example
 * ```ts
 * import { durableObjectStore } from '@spillway/cloudflare';
 * import { createLimiter } from '@spillway/core';
 *
 * const limiter = createLimiter({ name: 'login', limit: 5, window: '1m' }, { store: durableObjectStore(env.LIMITS) });
 * (await limiter.consume('ada')).remaining; // 4
 * ```
 */
export function durableObjectStore(
  namespace: ObjectNamespace,
  options: DurableObjectStoreOptions = {},
): DurableObjectStore {
  return remoteStore(new ObjectStore(namespace, options));
}

export class ObjectStore implements DurableObjectStore {
  readonly sync = false;
  readonly label = 'Durable Objects';
  readonly denialsLastUs: number = DENIALS_LAST_US;
  readonly testClock?: Clock;
  readonly values: Values;
  private readonly nameOf: (key: string) => string;
  private readonly sendCall: SendCall;
  private readonly known = new Set<string>();

  constructor(
    namespace: ObjectNamespace,
    options: DurableObjectStoreOptions,
    test?: { readonly clock: Clock; fields(): Record<string, string> },
  ) {
    checkNamespace(namespace);
    checkOptions(options, 'durableObjectStore()', NAMES);
    const { hashKeys, locationHint } = options;
    checkSecret(hashKeys);
    if (locationHint !== undefined && typeof locationHint !== 'string') {
      throw mustBe('locationHint', "a text such as 'weur'", locationHint);
    }
    this.nameOf = objectNamer(hashKeys);
    this.sendCall = objectCalls(namespace, locationHint, test && (() => test.fields()));
    if (test) this.testClock = test.clock;
    this.values = {
      set: (name, bytes, ttlUs) => this.setValue(name, bytes, ttlUs),
      get: (name) => this.getValue(name),
    };
  }

  register(limiter: string): void {
    if (this.known.size < MAX_LIMITERS) this.known.add(limiter);
  }

  /** The object of a key is its failure domain, because each object can fail alone. */
  domainOf({ key }: Step): string {
    return this.nameOf(key);
  }

  async apply(
    steps: readonly Step[],
    { deadlineUs = Infinity }: ApplyOptions = {},
  ): Promise<readonly Answer[]> {
    if (steps.length === 0) return [];
    if (steps.length > MAX_STEPS) throw tooLarge();
    const group = uniqueGroup(steps);
    const parts = partsOf(group.steps, ({ key }) => this.nameOf(key));
    const answers = await askParts(parts, (own, name, always) =>
      this.applyInObject(own, name, always ? Infinity : deadlineUs),
    );
    return spread(group, answers);
  }

  private async applyInObject(
    steps: readonly Step[],
    name: string,
    deadlineUs: number,
  ): Promise<readonly Answer[]> {
    const untilUs = steps.every(isEnd) ? Infinity : deadlineUs;
    if (systemClock.nowUs() > untilUs) throw tooLate();
    const latestUs = untilUs === Infinity ? undefined : untilUs + SKEW_US;
    // Keys never leave the Worker. The object's name, a digest, replaces them.
    const nowUs = (this.testClock ?? systemClock).nowUs();
    const plain = steps.map((step) => plainStep(step, name, nowUs));
    const resets = steps.filter(({ op, limiter }) => op === 'reset' && this.known.has(limiter));
    const known = resets.length > 0 ? resets.map(({ limiter }) => limiter) : undefined;
    const call = { steps: plain, latestUs, known };
    const { answers } = await this.sendCall(name, call, steps.every(mayRepeat));
    if (answers?.length !== steps.length) throw noReply();
    return answers;
  }

  private async setValue(name: ValueName, bytes: Uint8Array, ttlUs: number): Promise<void> {
    checkValue(bytes, ttlUs);
    const key = this.nameOf(name.key);
    await this.sendCall(key, { set: { ...name, key }, text: textOfBytes(bytes), ttlUs }, true);
  }

  private async getValue(name: ValueName): Promise<Uint8Array | undefined> {
    const key = this.nameOf(name.key);
    const { value } = await this.sendCall(key, { get: { ...name, key } }, true);
    return value === undefined ? undefined : bytesOfText(value);
  }
}

/**
 * Whether a step can be sent again if the reply is lost. Steps that end or renew a permit or a claim contain its id, so
 * repeating them is safe.
 */
function mayRepeat({ op, lease, claim }: Step): boolean {
  if (op === 'look' || op === 'reset') return true;
  return op !== 'take' && (lease !== undefined || claim !== undefined);
}

function checkNamespace(namespace: unknown): void {
  const { idFromName, get } = (namespace ?? {}) as Partial<ObjectNamespace>;
  if (typeof idFromName !== 'function' || typeof get !== 'function') {
    throw mustBe('the namespace', 'a binding to RateLimitObject, such as env.LIMITS', namespace);
  }
}

function checkSecret(secret: unknown): void {
  if (secret === undefined) return;
  const isSecret = typeof secret === 'string' || secret instanceof Uint8Array;
  // The value is a secret, so only its type is shown.
  if (isSecret && secret.length > 0) return;
  const got = isSecret ? 'an empty one' : typeof secret;
  throw mustBe('hashKeys', 'a secret, as a string or bytes', got);
}
