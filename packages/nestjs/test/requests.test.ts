/** What limiters see of a request, on each platform and in each form of request. */

import { Controller, Get } from '@nestjs/common';
import { rateLimit, SpillwayModule } from '@spillway/nestjs';
import { describe, expect, it } from 'vitest';
import { PLATFORMS, serve } from './service.js';

@Controller()
class Health {
  @Get('health')
  read(): string {
    return 'ok';
  }
}

describe.each(PLATFORMS)('Nest on %s', (_, { adapter }) => {
  it.each([
    '/health',
    '/health?deep=1',
    'http://api.example/health',
    'http://api.example/health?deep=1',
  ])('reads the path of %s', async (target) => {
    const paths: string[] = [];
    const key = ({ path }: { readonly path: string }): undefined => void paths.push(path);
    const limiters = [rateLimit({ limit: 9, window: '1h', key })];
    const metadata = { imports: [SpillwayModule.forRoot({ limiters })], controllers: [Health] };
    const { raw } = await serve(adapter, metadata);
    await raw(`GET ${target} HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\n\r\n`);
    expect(paths).toEqual(['/health']);
  });
});

it('tells the whole path, whatever middleware before it made of it', async () => {
  const paths: string[] = [];
  const key = ({ path }: { readonly path: string }): undefined => void paths.push(path);
  const limiters = [rateLimit({ limit: 9, window: '1h', key })];
  const metadata = { imports: [SpillwayModule.forRoot({ limiters })], controllers: [Health] };
  const [[, { adapter }]] = PLATFORMS;
  const { get } = await serve(adapter, metadata, (app) => {
    app.use((request: { url: string }, _response: object, next: () => void) => {
      request.url = request.url.replace('/v1', '');
      next();
    });
  });
  expect((await get('/v1/health?deep=1')).body).toBe('ok');
  expect(paths).toEqual(['/v1/health']);
});
