/** The gate with a custom exchange: what it calls, in which order, and what happens if the exchange is wrong. */

import {
  type Admission,
  concurrencyLimit,
  type Fault,
  type LimitRequest,
  memoryStore,
  type RequestOutcome,
  rateLimit,
  type Store,
} from '@spillway/core';
import { admissionsOf, type Exchange, Gate, type OnClosed } from '@spillway/core/adapter';
import { remoteStore } from '@spillway/core/store';
import { describe, expect, it } from 'vitest';

const REQUEST: LimitRequest = {
  method: 'GET',
  path: '/',
  clientIp: '192.0.2.1',
  header: () => undefined,
  raw: undefined,
};

/** An exchange that records the calls of the gate. */
class NotingExchange implements Exchange {
  readonly calls: string[] = [];
  readonly fields = new Map<string, string>();
  refusal: Admission | undefined;
  closed: OnClosed | undefined;
  hasLeft = false;

  decided(admission: Admission): void {
    this.calls.push(`decided ${admission.allowed}`);
  }

  isGone(): boolean {
    this.calls.push('isGone');
    return this.hasLeft;
  }

  onClosed(closed: OnClosed): void {
    this.calls.push('onClosed');
    this.closed = closed;
  }

  getHeader(name: string): unknown {
    return this.fields.get(name);
  }

  setHeader(name: string, value: string): void {
    this.calls.push(`set ${name}`);
    this.fields.set(name, value);
  }

  reject(admission: Admission): void {
    this.calls.push('reject');
    this.refusal = admission;
  }
}

const oneAnHour = () => rateLimit({ name: 'one', limit: 1, window: '1h' });
const oneAtOnce = () => concurrencyLimit({ name: 'alone', limit: 1, key: 'all' });

function laterStore(): Store {
  const memory = memoryStore();
  return remoteStore({ sync: false, apply: async (steps) => memory.apply(steps) });
}

describe('a gate', () => {
  it('tells the decision, sets the fields and lets the request on', () => {
    const gate = new Gate(oneAnHour(), {});
    const exchange = new NotingExchange();
    const holder = {};
    expect(gate.enter(REQUEST, exchange, holder)).toBe('pass');
    expect(exchange.calls).toEqual(['decided true', 'set RateLimit-Policy', 'set RateLimit']);
    expect(admissionsOf(holder)).toHaveLength(1);
  });

  it('leaves the type of a refusal to who answers it', () => {
    const gate = new Gate(rateLimit({ limit: 1, window: '1h', cost: () => 2 }), {});
    const exchange = new NotingExchange();
    expect(gate.enter(REQUEST, exchange, {})).toBe('rejected');
    expect(exchange.calls.at(-1)).toBe('reject');
    expect([...exchange.fields.keys()]).toEqual(['RateLimit-Policy', 'RateLimit', 'Cache-Control']);
    expect(exchange.refusal).toMatchObject({ allowed: false, status: 429 });
  });

  it('asks once for each holder, and says the same again', () => {
    const gate = new Gate(rateLimit({ limit: 1, window: '1h' }), { logger: false });
    const [first, second] = [{}, {}];
    expect(gate.enter(REQUEST, new NotingExchange(), first)).toBe('pass');
    const again = new NotingExchange();
    expect(gate.enter(REQUEST, again, first)).toBe('pass');
    expect(again.calls).toEqual(['decided true']);
    expect(gate.enter(REQUEST, new NotingExchange(), second)).toBe('rejected');
    const refusedAgain = new NotingExchange();
    expect(gate.enter(REQUEST, refusedAgain, second)).toBe('rejected');
    expect(refusedAgain.calls).toEqual(['decided false', 'reject']);
  });

  it('decides each time where it is told to', () => {
    const gate = new Gate(rateLimit({ limit: 1, window: '1h' }), {});
    const holder = {};
    expect(gate.decide(REQUEST, new NotingExchange(), holder)).toBe('pass');
    expect(gate.decide(REQUEST, new NotingExchange(), holder)).toBe('rejected');
  });

  it('watches the response only where something is to be given back', () => {
    const outcomes: RequestOutcome[] = [];
    const gate = new Gate(oneAtOnce(), {});
    const exchange = new NotingExchange();
    gate.enter(REQUEST, exchange, {});
    expect([exchange.calls.includes('onClosed'), gate.inProgress]).toEqual([true, 1]);
    exchange.closed?.({ status: 200, aborted: false });
    expect([gate.inProgress, outcomes]).toEqual([0, []]);
  });

  it('looks whether the client is gone only after it has waited', async () => {
    const gate = new Gate(oneAtOnce(), { store: laterStore() });
    const gone = new NotingExchange();
    gone.hasLeft = true;
    expect(await gate.enter(REQUEST, gone, {})).toBe('gone');
    expect([gone.calls, gate.inProgress]).toEqual([['decided true', 'isGone'], 0]);
    expect(await gate.enter(REQUEST, new NotingExchange(), {})).toBe('pass');
  });
});

describe('a mistake in an exchange', () => {
  const failing = (method: keyof Exchange) => {
    const exchange = new NotingExchange();
    Object.assign(exchange, {
      [method]: () => {
        throw new Error(`of ${method}`);
      },
    });
    return exchange;
  };

  it.each(['decided', 'isGone', 'onClosed', 'getHeader', 'setHeader', 'reject'] as const)(
    'in %s is a fault, and the request passes',
    async (method) => {
      const faults: Fault[] = [];
      const limiters = [
        concurrencyLimit({ name: 'alone', limit: 5, key: 'all' }),
        rateLimit({
          name: 'never',
          limit: 1,
          window: '1h',
          cost: () => (method === 'reject' ? 2 : 1),
        }),
      ];
      const gate = new Gate(limiters, {
        store: laterStore(),
        onFault: (fault) => faults.push(fault),
      });
      expect(await gate.enter(REQUEST, failing(method), {})).toBe('pass');
      expect(faults).toMatchObject([{ source: 'adapter', error: { message: `of ${method}` } }]);
    },
  );

  it('is a fault for observers too', () => {
    const faults: Fault[] = [];
    const observer = { onFault: (fault: Fault) => void faults.push(fault) };
    const gate = new Gate(rateLimit({ limit: 1, window: '1h' }), {
      observers: [observer],
      logger: false,
    });
    gate.enter(REQUEST, failing('setHeader'), {});
    expect(faults).toMatchObject([{ limiter: '', source: 'adapter' }]);
  });

  it.each(['decided', 'isGone', 'onClosed'] as const)(
    'in %s leaves no permit behind that nobody gives back',
    async (method) => {
      const gate = new Gate(oneAtOnce(), { store: laterStore(), onFault: () => undefined });
      await gate.enter(REQUEST, failing(method), {});
      expect(gate.inProgress).toBe(0);
    },
  );

  it('in setHeader leaves the permit to the close of the response', () => {
    const gate = new Gate(oneAtOnce(), { headers: ['legacy'], onFault: () => undefined });
    const exchange = failing('setHeader');
    gate.enter(REQUEST, exchange, {});
    expect(gate.inProgress).toBe(1);
    exchange.closed?.({});
    expect(gate.inProgress).toBe(0);
  });
});

it.each([undefined, null, 'GET /'])('has no decisions about %s, and says what it takes', (what) => {
  expect(() => admissionsOf(what as never)).toThrow(
    `request must be the object that the framework gives its handlers, got ${JSON.stringify(what)}`,
  );
});
