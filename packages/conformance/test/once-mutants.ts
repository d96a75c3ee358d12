/** Adapters that handle idempotency keys wrongly, in one way each. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Admission } from '@spillway/core';
import type { Recorder, ResponseWatcher, StoredResponse } from '@spillway/core/adapter';
import { NodeExchange } from '@spillway/core/node';
import { remoteStore } from '@spillway/core/store';
import { type AdapterMutant, mutant } from './adapter-mutant.js';
import { right } from './demo-service.js';

const REPEATS = 'replays the first response';

/** An exchange that does one thing differently. */
function exchanging(
  name: string,
  caughtBy: string,
  change: (exchange: NodeExchange, req: IncomingMessage, res: ServerResponse) => void,
): AdapterMutant {
  const exchange = (req: IncomingMessage, res: ServerResponse): NodeExchange => {
    const made = new NodeExchange(req, res, false);
    change(made, req, res);
    return made;
  };
  return mutant(name, caughtBy, { exchange });
}

/** An adapter that sends another response than the stored one. */
function replies(name: string, change: (answer: StoredResponse) => StoredResponse): AdapterMutant {
  return exchanging(name, REPEATS, (exchange) => {
    const { replay } = exchange;
    exchange.replay = (answer) => replay.call(exchange, change(answer));
  });
}

/** An adapter that records in another way. */
function records(
  name: string,
  caughtBy: string,
  change: (recorder: Recorder, res: ServerResponse) => Partial<Recorder>,
): AdapterMutant {
  return exchanging(name, caughtBy, (exchange, _req, res) => {
    const { recorder } = exchange;
    exchange.recorder = (recorders) => {
      const made = recorder.call(exchange, recorders);
      return Object.assign(made, change(made, res));
    };
  });
}

/** An adapter that shows a response wrongly. */
function watches(
  name: string,
  caughtBy: string,
  change: (watcher: ResponseWatcher, res: ServerResponse) => Partial<ResponseWatcher>,
): AdapterMutant {
  return records(name, caughtBy, (recorder, res) => {
    const watch = recorder.watchResponse.bind(recorder);
    return {
      watchResponse: (watcher) =>
        watch({
          head: (...args) => watcher.head(...args),
          chunk: (bytes) => watcher.chunk(bytes),
          end: () => watcher.end(),
          unsent: () => watcher.unsent(),
          fail: () => watcher.fail(),
          ...change(watcher, res),
        }),
    };
  });
}

const without = ({ headers, ...answer }: StoredResponse, name: string): StoredResponse => ({
  ...answer,
  headers: headers.filter(([key]) => key !== name),
});

/** Makes the key of a rejected request unusable. */
function spendsRefused(): AdapterMutant {
  const spent = new Set<string | undefined>();
  const exchange = (req: IncomingMessage, res: ServerResponse): NodeExchange => {
    const made = new NodeExchange(req, res, false);
    const { reject } = made;
    made.reject = (admission: Admission) => {
      if (admission.status === 429) spent.add(String(req.headers['idempotency-key']));
      reject.call(made, admission);
    };
    return made;
  };
  return mutant('takes the key of a request that it refuses', 'frees the key', {
    exchange,
    onceKey: (key) => (spent.has(key) ? '' : key),
  });
}

export const onceMutants: readonly AdapterMutant[] = [
  replies('does not mark a repeat', (answer) => without(answer, 'Idempotency-Replayed')),
  replies('loses the type of a repeat', (answer) => without(answer, 'Content-Type')),
  replies('answers 200 to a repeat', (answer) => ({ ...answer, status: 200 })),
  replies('sends a repeat without its body', (answer) => ({ ...answer, body: new Uint8Array() })),
  mutant('does not let pages see that it is a repeat', REPEATS, {
    exposes: (res) => {
      right.exposes(res);
      res.setHeader('Access-Control-Expose-Headers', 'RateLimit, RateLimit-Policy, Retry-After');
    },
  }),
  mutant('charges a repeat', REPEATS, {
    store: (store) =>
      remoteStore({
        sync: false,
        ...(store.values && { values: store.values }),
        apply: async (steps) => {
          const answers = await store.apply(steps);
          const isHeld = steps.some(({ claim }, at) => claim && !answers[at]?.allowed);
          const rates = steps.filter(({ limiter }) => limiter === 'per-address');
          if (isHeld) await store.apply(rates.map((step) => ({ ...step, op: 'record' })));
          return answers;
        },
      }),
  }),
  exchanging('tells no time to come back', 'answers 409', (exchange) => {
    const { setHeader } = exchange;
    exchange.setHeader = (name, value) => {
      if (name !== 'Retry-After') setHeader.call(exchange, name, value);
    };
  }),
  records('compares no bodies', 'answers 422', () => ({
    watchBody: () => undefined,
    readBody: async () => 'unknown',
  })),
  mutant('takes any text for a key', 'answers 400', {
    onceKey: (key) => key && `k${Buffer.from(key).toString('hex').slice(0, 200)}`,
  }),
  mutant('takes all requests without a key for one', 'runs every request without', {
    onceKey: (key) => key ?? 'none',
  }),
  mutant('lets all callers share their keys', 'keeps the keys of different callers', {
    scope: () => 'everybody',
  }),
  spendsRefused(),
  watches('lets a handler that failed run again', 'stores the 500', (watcher) => ({
    head: (status, field) => watcher.head(status === 500 ? 503 : status, field),
  })),
  watches('keeps the beginning of what is too long', 'tells a retry', (watcher) => ({
    chunk: (bytes) => watcher.chunk(bytes.subarray(0, 100)),
  })),
  watches('keeps only the last piece of a stream', 'replays the whole', (watcher) => {
    let last: Uint8Array | undefined;
    return {
      chunk: (bytes) => {
        last = bytes;
        return true;
      },
      end: () => {
        if (last) watcher.chunk(last);
        return watcher.end();
      },
    };
  }),
  watches('keeps nothing once the client is gone', 'stores the response even', (watcher, res) => ({
    end: () => (res.destroyed ? undefined : watcher.end()),
  })),
];
