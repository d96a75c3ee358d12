/** What an app throws instead of the usual rejection, and what happens if making it fails. */

import { Controller, Get, HttpException } from '@nestjs/common';
import { RateLimit, SpillwayModule, type SpillwayOptions } from '@spillway/nestjs';
import { describe, expect, it } from 'vitest';
import { PLATFORMS, serve } from './service.js';

@Controller()
@RateLimit({ limit: 1, window: '1h', cost: () => 2 })
class RefusedController {
  @Get()
  get() {
    return 'hello';
  }
}

describe.each(PLATFORMS)('Nest on %s', (_, { adapter }) => {
  const refused = async (exception: NonNullable<SpillwayOptions['exception']>) => {
    const imports = [SpillwayModule.forRoot({ rejection: 'throw', exception })];
    const { get } = await serve(adapter, { imports, controllers: [RefusedController] });
    return get();
  };

  it('answers with the exception of the app', async () => {
    const { status, body } = await refused(() => new HttpException('mine', 418));
    expect([status, JSON.parse(body).message]).toEqual([418, 'mine']);
  });

  it('answers 500 where making it fails, and where it is no HttpException', async () => {
    const fails = () => {
      throw new Error('mine');
    };
    for (const exception of [fails, () => new Error('mine')]) {
      expect((await refused(exception)).status).toBe(500);
    }
  });
});
