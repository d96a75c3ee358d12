import type { LimitRequest } from '@spillway/core';
import { expect, it } from 'vitest';
import type { Service } from '../http.js';
import type { Driver } from './driver.js';

type Seen = readonly [method: string, path: string, field: string | undefined];

async function watching<Guard>(driver: Driver<Guard>): Promise<{ seen: Seen[]; service: Service }> {
  const seen: Seen[] = [];
  const key = (request: LimitRequest): string => {
    seen.push([request.method, request.path, request.header('x-own')]);
    return 'all';
  };
  const limiter = driver.rateLimit({ limit: 99, window: '1h', key });
  return { seen, service: await driver.serve({ guards: [driver.guard(limiter)] }) };
}

export function requests<Guard>(driver: Driver<Guard>): void {
  it.each([
    ['/', '/'],
    ['/?', '/'],
    ['/a/b?c=/d', '/a/b'],
    ['/a/', '/a/'],
    ['/A%20b/%c3%a9', '/A%20b/%c3%a9'],
    ['/a%2Fb%3Fc%25', '/a%2Fb%3Fc%25'],
    ['/a;b=1,c/@', '/a;b=1,c/@'],
    ['//a//b', '//a//b'],
    ['http://api.example', '/'],
    ['http://api.example/a/b?c', '/a/b'],
  ])('tells limiters of %s the path %s, as the client has written it', async (target, path) => {
    const { seen, service } = await watching(driver);
    await service.get(target);
    expect(seen).toEqual([['GET', path, undefined]]);
  });

  it('tells limiters the method and the fields', async () => {
    const { seen, service } = await watching(driver);
    for (const method of ['GET', 'HEAD', 'OPTIONS']) {
      await service.get('/', { method, headers: { 'X-Own': ` ${method} ` } });
    }
    expect(seen).toEqual([
      ['GET', '/', 'GET'],
      ['HEAD', '/', 'HEAD'],
      ['OPTIONS', '/', 'OPTIONS'],
    ]);
  });
}
