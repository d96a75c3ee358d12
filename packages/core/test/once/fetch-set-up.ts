/** A fetch handler behind a guard with idempotency keys, and its client. */

import { type IdempotencyOptions, idempotency, memoryStore } from '@spillway/core';
import { type FetchGuardOptions, fetchGuard } from '@spillway/core/fetch';

export type Handler = (request: Request, run: number) => Response | Promise<Response>;

export function serve(
  handler: Handler,
  options: Partial<IdempotencyOptions<Request>> = {},
  guard: FetchGuardOptions<Request> = {},
) {
  let runs = 0;
  const limits = fetchGuard<Request>(idempotency({ scope: () => 'ada', ...options }), {
    store: memoryStore(),
    ...guard,
  });
  const fetch = limits.wrap(async (request: Request) => {
    runs += 1;
    return handler(request, runs);
  });
  const post = async (key: string, init: RequestInit = {}, path = '/charges') => {
    const headers = { 'Idempotency-Key': key, 'Content-Type': 'application/json' };
    const own = {
      method: 'POST',
      body: '{"amount":5}',
      ...init,
      headers: { ...headers, ...init.headers },
    };
    return fetch(new Request(`http://a.example${path}`, own));
  };
  const text = async (...args: Parameters<typeof post>) => {
    const response = await post(...args);
    const mark = response.headers.get('idempotency-replayed') ? ' again' : '';
    return `${response.status} ${await response.text()}${mark}`;
  };
  return { post, text, limits, runs: () => runs };
}
