import { SpillwayError } from '@spillway/core';
import { mustBe } from '@spillway/core/adapter';
import type {
  FastifyInstance,
  FastifyPluginAsync,
  FastifyReply,
  FastifyRequest,
  RouteOptions,
} from 'fastify';
import fastifyPlugin from 'fastify-plugin';
import type { SpillwayOptions } from './plugin-options.js';
import { type Done, Registration } from './registration.js';

/**
 * Fastify plugin: a request passes if every limiter admits it, and is otherwise rejected, for example with 429 or 503.
 * It limits all routes of its context and of that context's children, even routes declared before it, and requests that
 * match no route. `admissionsOf(request)` returns the decisions. `register` rejects with a `SpillwayError` for wrong
 * options or another decoration called `spillway`, and as `createGuard` does. `app.ready()` rejects for a wrong
 * `config.spillway`, or a leftover `config.rateLimit`, of a route declared after it.
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
export const spillway: FastifyPluginAsync<SpillwayOptions> = fastifyPlugin(
  async (app, options: SpillwayOptions) => {
    if (options === undefined) {
      throw mustBe('spillway', 'registered, as in app.register(spillway, { limiters })', app);
    }
    const { hook = 'onRequest' } = options;
    if (hook !== 'onRequest' && hook !== 'preHandler') {
      throw mustBe('hook', 'onRequest or preHandler', hook);
    }
    const outer = registrationOf(app);
    if (!outer && app.spillway !== undefined) {
      throw new SpillwayError(
        'SPW_NAME_CONFLICT',
        'the app is decorated with "spillway" already: give that decoration another name',
      );
    }
    const registration = new Registration(options, outer);
    app.spillway = registration;
    const routes: [server: FastifyInstance, route: RouteOptions][] = [];
    app.addHook('onRoute', function noteRoute(route) {
      routes.push([this, route]);
    });
    app.addHook('onReady', async () => {
      // A registration of an outer context may have been loaded after this one.
      for (let around = parentOf(app); around; around = parentOf(around)) {
        registration.leaveTo(registrationOf(around));
      }
      // Checked here, not in onRoute, because a plugin of the route's context may be loaded after the route.
      for (const [server, { config, url }] of routes) {
        checkConfig(server, config, url);
        (server.spillway as Registration).gateOf(config?.spillway);
      }
    });
    const admit = (request: FastifyRequest, reply: FastifyReply, next: Done): void =>
      registration.enter(request, reply, next);
    app.addHook(hook as 'onRequest', admit); // the types have one entry for each hook
    app.addHook('onClose', () => registration.close());
  },
  { name: '@spillway/fastify', fastify: '5.x' },
);

function registrationOf({ spillway }: FastifyInstance): Registration | undefined {
  return spillway instanceof Registration ? spillway : undefined;
}

/** Rejects leftover config of @fastify/rate-limit, because its limits would be off without a warning. */
function checkConfig(app: FastifyInstance, config: object | undefined, url: string): void {
  if (config === undefined || !Object.hasOwn(config, 'rateLimit')) return;
  if (app.hasPlugin('@fastify/rate-limit')) return;
  throw new SpillwayError(
    'SPW_OPTION_UNKNOWN',
    `the config of route ${url} has "rateLimit", of a plugin that is not registered: use "spillway" instead`,
  );
}

/** The outer context, which Fastify makes the prototype of the inner context. */
function parentOf(app: FastifyInstance): FastifyInstance | null {
  return Object.getPrototypeOf(app);
}
