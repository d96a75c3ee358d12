/** Ways in which a listener of node:http is run without a connection, as Lambda adapters and tests of handlers do. */

import { EventEmitter } from 'node:events';
import type { RequestListener } from 'node:http';
import codegenie from '@codegenie/serverless-express';
import vendia from '@vendia/serverless-express';
import light from 'light-my-request';
import mocks from 'node-mocks-http';
import serverlessHttp from 'serverless-http';

/** Sends one GET request; gives the status once the response has ended. */
export type Visit = () => Promise<number>;

/** An application of Express or Koa, or a bare listener. */
export type App = RequestListener | { callback(): RequestListener };

type Lambda = (event: object, context: object) => Promise<{ readonly statusCode: number }>;

/** What API Gateway hands to a Lambda function (payload format 2.0). */
const EVENT = {
  version: '2.0',
  routeKey: '$default',
  rawPath: '/',
  rawQueryString: '',
  headers: { host: 'a.example' },
  requestContext: {
    http: { method: 'GET', path: '/', sourceIp: '203.0.113.7' },
    stage: '$default',
  },
  isBase64Encoded: false,
};

/** The types of these modules declare a default export, but the module itself is the function. */
function asFunction(module: unknown): (settings: { readonly app: App }) => Lambda {
  return module as (settings: { readonly app: App }) => Lambda;
}

function visitLambda(lambda: Lambda): Visit {
  return async () => (await lambda(EVENT, {})).statusCode;
}

/** By their names in package.json. */
export const WITHOUT_CONNECTION: Readonly<Record<string, (app: App) => Visit>> = {
  '@codegenie/serverless-express': (app) => visitLambda(asFunction(codegenie)({ app })),
  '@vendia/serverless-express': (app) => visitLambda(asFunction(vendia)({ app })),
  'serverless-http': (app) => visitLambda(serverlessHttp(app) as unknown as Lambda),
  'light-my-request': (app) => async () =>
    (await light(listenerOf(app) as never, { method: 'GET', url: '/' })).statusCode,
  'node-mocks-http': (app) => {
    const listener = listenerOf(app);
    return () =>
      new Promise((resolve) => {
        const { req, res } = mocks.createMocks(
          { method: 'GET', url: '/', headers: { host: 'a.example' } },
          { eventEmitter: EventEmitter },
        );
        res.on('finish', () => resolve(res.statusCode));
        listener(req as never, res as never);
      });
  },
};

function listenerOf(app: App): RequestListener {
  return 'callback' in app ? app.callback() : app;
}
