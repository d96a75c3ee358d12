/** The plugin: hooks that give requests to a registration, and its end with the app's. */

import { SpillwayError } from '@spillway/core';
import type { FastifyPluginCallback } from 'fastify';
import fastifyPlugin from 'fastify-plugin';
import type { SpillwayOptions } from './options.js';
import { Registration } from './registration.js';

/**
 * Fastify plugin that lets pass what every limiter lets pass, and answers the rest with 429 (or 503). It limits the routes
 * of the context that it is registered for and of that context's children, those declared before it too, and requests
 * that no route answers. `admissionsOf(request)` has the decisions. `register` rejects with a `SpillwayError` for wrong
 * options, and with those of `createGuard`.
 *
 * @example
 * ```ts
 * import { rateLimit, spillway } from '@spillway/fastify';
 * import Fastify from 'fastify';
 *
 * const app = Fastify();
 * app.register(spillway, { limiters: rateLimit({ limit: 100, window: '1m' }) });
 * app.get('/export', { config: { spillway: rateLimit({ limit: 5, window: '1h' }) } }, () => '...');
 * ```
 */
export const spillway: FastifyPluginCallback<SpillwayOptions> = fastifyPlugin(
  (app, options: SpillwayOptions, done) => {
    const { hook = 'onRequest' } = options;
    if (hook !== 'onRequest' && hook !== 'preHandler') {
      throw new SpillwayError(
        'SPW_OPTION_INVALID',
        `hook must be onRequest or preHandler, got ${hook}`,
      );
    }
    const outer = app.spillway instanceof Registration ? app.spillway : undefined;
    const registration = new Registration(options, outer);
    app.spillway = registration;
    app.addHook('onRoute', function checkRoute({ config }) {
      if (this.spillway === registration) registration.gateOf(config?.spillway);
    });
    app.addHook(hook, function spillway(request, reply, next) {
      registration.enter(request, reply, next);
    });
    app.addHook('onClose', () => registration.close());
    done();
  },
  { name: '@spillway/fastify', fastify: '5.x' },
);
