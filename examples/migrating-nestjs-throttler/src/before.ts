/** The notes service behind @nestjs/throttler. */

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
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { SkipThrottle, Throttle, ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { isAda, NOTES } from 'example-notes-service';

@Controller()
class NotesController {
  @Get('health')
  @SkipThrottle()
  health() {
    return 'ok';
  }

  @Get('notes')
  notes() {
    return NOTES;
  }

  @Post('login')
  @HttpCode(204)
  @Throttle({ default: { limit: 5, ttl: 15 * 60_000 } })
  login(@Headers('authorization') authorization: string) {
    if (!isAda(authorization)) throw new UnauthorizedException();
  }
}

@Module({
  imports: [ThrottlerModule.forRoot([{ limit: 100, ttl: 60_000 }])],
  providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
  controllers: [NotesController],
})
class AppModule {}

export async function createApp(): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(AppModule, new ExpressAdapter(), {
    logger: ['error', 'warn'],
  });
  app.set('trust proxy', 1);
  return app;
}
