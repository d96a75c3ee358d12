import type { IdempotencyOptions, RequestOutcome, ResponseEnd } from '@spillway/core';
import type { OnceAnswer, OnceApp, OnceReply, OnceService, OnceWorld } from './once-world.js';

export interface Started extends OnceService {
  runs(): number;
  readonly ends: readonly ResponseEnd[];
}

export async function start(
  world: OnceWorld,
  answer: (visit: Parameters<OnceApp['handle']>[0]) => OnceAnswer | Promise<OnceAnswer>,
  options: Partial<IdempotencyOptions> = {},
  app: Partial<OnceApp> = {},
): Promise<Started> {
  let runs = 0;
  const ends: ResponseEnd[] = [];
  const refundIf = (_request: unknown, { durationMs: _, ...end }: RequestOutcome): boolean => {
    ends.push(end);
    return false;
  };
  const limiters = [
    world.idempotency({ scope: (request) => request.header('x-account') ?? 'ada', ...options }),
    world.rateLimit({ name: 'api', limit: 100, window: '1h', key: 'all', refundIf }),
  ];
  const service = await world.serve({
    limiters,
    ...app,
    handle: async (visit) => {
      runs += 1;
      return answer(visit);
    },
  });
  return { ...service, runs: () => runs, ends };
}

export const isRepeat = ({ headers }: OnceReply): boolean =>
  headers['idempotency-replayed'] === 'true';
export const remaining = ({ headers }: OnceReply): string | undefined =>
  /r=(\d+)/.exec(headers['ratelimit'] ?? '')?.[1];
export const problem = ({ status, headers, bytes }: OnceReply): unknown[] => [
  status,
  headers['content-type'],
  JSON.parse(String(bytes)).status,
];
