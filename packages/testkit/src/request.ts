import type { LimitRequest } from '@spillway/core';

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
