/** The notes service behind Spillway. */

import 'reflect-metadata';
import {
  Controller,
  Get,
  Headers,
  HttpCode,
  Module,
  Post,
  UnauthorizedException,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { RateLimit, SkipRateLimit, SpillwayModule, slidingLog } from '@spillway/nestjs';
import { isAda, NOTES } from 'example-notes-service';

@Controller()
@RateLimit({ limit: 100, window: '1m', algorithm: slidingLog }) // no name: each method has its own counts
class NotesController {
  @Get('health')
  @SkipRateLimit()
  health() {
    return 'ok';
  }

  @Get('notes')
  notes() {
    return NOTES;
  }

  @Post('login')
  @HttpCode(204)
  @RateLimit({ limit: 5, window: '15m', algorithm: slidingLog })
  login(@Headers('authorization') authorization: string) {
    if (!isAda(authorization)) throw new UnauthorizedException();
  }
}

@Module({
  imports: [SpillwayModule.forRoot({ trustProxy: 1 })],
  controllers: [NotesController],
})
class AppModule {}

export async function createApp(): Promise<NestExpressApplication> {
  return NestFactory.create<NestExpressApplication>(AppModule, new ExpressAdapter(), {
    logger: ['error', 'warn'],
  });
}
