/** Requests as adapters create them. */

import type { LimitRequest } from '@spillway/core';

/** A request; by default `GET /` from a fixed address. */
export function request(
  options: Partial<LimitRequest> & { headers?: Record<string, string> } = {},
): LimitRequest {
  const { headers = {}, ...rest } = options;
  return {
    method: 'GET',
    path: '/',
    clientIp: '203.0.113.7',
    header: (name) => headers[name],
    raw: undefined,
    ...rest,
  };
}
