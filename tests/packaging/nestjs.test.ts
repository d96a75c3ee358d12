/** Nest as users load it: 10 and 11 required, 12 imported, on both platforms, with the packed packages. */

import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ROOT, readManifest } from './packages.js';
import { installPacked, type Project } from './project.js';

const MAJORS = [
  { nest: 10, file: 'app.cjs' },
  { nest: 11, file: 'app.cjs' },
  { nest: 12, file: 'app.mjs' },
];

/** An app with two limits, asked over HTTP; prints what it answered. */
const APP = `
async function main(load) {
  const { Controller, Get, Module, applyDecorators } = await load('@nestjs/common');
  const { NestFactory } = await load('@nestjs/core');
  const { RateLimit, rateLimit, SpillwayError, SpillwayModule } = await load('@spillway/nestjs');
  const { InjectLimiter, InjectShaper } = await load('@spillway/nestjs');
  const core = await load('@spillway/core');
  const { createShaper } = await load('@spillway/outgoing');

  class Hello {
    hello() {
      return 'hello';
    }
  }
  Controller()(Hello);
  const decorate = applyDecorators(Get(), RateLimit({ limit: 1, window: '1h' }));
  decorate(Hello.prototype, 'hello', Object.getOwnPropertyDescriptor(Hello.prototype, 'hello'));
  class Sender {}
  InjectShaper('acme')(Sender.prototype, 'acme');
  InjectLimiter('sending')(Sender.prototype, 'sending');
  InjectLimiter('logins')(Sender.prototype, 'logins');
  const features = () => [
    SpillwayModule.forFeature({
      shapers: {
        acme: (settings, name) => createShaper({ name, limit: 1, window: '1h' }, settings),
      },
      limiters: { sending: { limits: { carrier: { limit: 5, window: '1h' } } } },
    }),
    SpillwayModule.forFeature({ limiters: { logins: { limit: 5, window: '1h' } } }),
  ];
  const answers = { isOneCore: SpillwayError === core.SpillwayError };
  for (const name of ['Express', 'Fastify']) {
    const platform = await load('@nestjs/platform-' + name.toLowerCase());
    class App {}
    const limiters = [rateLimit({ limit: 9, window: '1h' })];
    const imports = [SpillwayModule.forRoot({ limiters }), ...features()];
    Module({ imports, controllers: [Hello], providers: [Sender] })(App);
    const adapter = new platform[name + 'Adapter']();
    const app = await NestFactory.create(App, adapter, { logger: false, abortOnError: false });
    await app.listen(0, '127.0.0.1');
    const url = 'http://127.0.0.1:' + app.getHttpServer().address().port;
    answers[name] = [];
    for (let i = 0; i < 2; i += 1) {
      const { status, headers } = await fetch(url, { headers: { connection: 'close' } });
      const limits = headers.get('ratelimit').replaceAll(/;t=\\d+/g, '');
      answers[name].push([status, limits, headers.get('content-type')]);
    }
    const { acme, logins, sending } = app.get(Sender);
    const sent = await acme.schedule('a', () => 'sent');
    const { allowed } = sending.consume({ carrier: 'x' });
    const { remaining } = logins.consume('ada');
    await app.close();
    const { reason } = await acme.reserve('a');
    answers.injected = [sent, allowed, remaining, reason];
  }
  console.log(JSON.stringify(answers));
}
`;

const projects: Project[] = [];

/** A project with our three packages, and with the versions of Nest that the test says. */
async function install(peers: readonly string[]): Promise<Project> {
  const ours = ['core', 'nestjs', 'outgoing'].map((name) => ({
    name: `@spillway/${name}`,
    dir: join(ROOT, 'packages', name),
    entries: [],
    peers,
  }));
  const project = await installPacked(ours);
  projects.push(project);
  return project;
}

afterAll(() => {
  for (const project of projects) project.remove();
}, 120_000);

describe.each(MAJORS)('Nest $nest', ({ nest, file }) => {
  it(`limits on both platforms, loaded by ${file}`, async () => {
    const parts = ['common', 'core', 'platform-express', 'platform-fastify'];
    const peers = [...parts.map((part) => `@nestjs/${part}@${nest}`), 'rxjs@7', 'reflect-metadata'];
    const project = await install(peers);
    project.write({
      'app.cjs': `${APP}\nmain(async (name) => require(name));\n`,
      'app.mjs': `${APP}\nawait main((name) => import(name));\n`,
    });
    const installed = readManifest(join(project.dir, 'node_modules', '@nestjs', 'core'));
    expect(installed.version).toMatch(new RegExp(`^${nest}\\.`));
    const answers = await project.run<Record<string, unknown>>(file);
    const expected = [
      [200, '"9-per-1h";r=8, "Hello.hello";r=0', 'text/html; charset=utf-8'],
      [429, '"9-per-1h";r=8, "Hello.hello";r=0', 'application/problem+json'],
    ];
    expect(answers).toEqual({
      isOneCore: true,
      injected: ['sent', true, 4, 'closed'],
      Express: expected,
      Fastify: [[200, expected[0]?.[1], 'text/plain; charset=utf-8'], expected[1]],
    });
  }, 240_000);
});

/** A resolver behind the guard, on Apollo; prints the responses to two operations, and then to one with two fields. */
const GRAPHQL = `
import 'reflect-metadata';
import { ApolloDriver } from '@nestjs/apollo';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { GraphQLModule, Query, Resolver } from '@nestjs/graphql';
import { ConcurrencyLimit, RateLimit, SpillwayModule } from '@spillway/nestjs';

class Cats {
  cats() {
    return 'cats';
  }
}
Resolver()(Cats);
const descriptor = Object.getOwnPropertyDescriptor(Cats.prototype, 'cats');
for (const decorate of [ConcurrencyLimit({ limit: 2 }), RateLimit({ limit: 3, window: '1h' }), Query('cats')]) {
  decorate(Cats.prototype, 'cats', descriptor);
}
class App {}
Module({
  imports: [
    SpillwayModule.forRoot(),
    GraphQLModule.forRoot({ driver: ApolloDriver, typeDefs: 'type Query { cats: String }' }),
  ],
  providers: [Cats],
})(App);
const app = await NestFactory.create(App, { logger: false, abortOnError: false });
await app.listen(0, '127.0.0.1');
const url = 'http://127.0.0.1:' + app.getHttpServer().address().port + '/graphql';
const answers = [];
for (const query of ['{ cats }', '{ cats }', '{ a: cats b: cats }']) {
  const body = JSON.stringify({ query });
  const headers = { 'content-type': 'application/json', connection: 'close' };
  const response = await fetch(url, { method: 'POST', headers, body });
  const { data, errors = [] } = await response.json();
  answers.push([data, errors.map(({ message }) => message), response.headers.get('ratelimit').replaceAll(/;t=\\d+/g, '')]);
}
await app.close();
console.log(JSON.stringify(answers));
`;

describe('Nest 11 with GraphQL on Apollo', () => {
  it('limits each field of an operation, and gives their permits back', async () => {
    const parts = ['common', 'core', 'platform-express'].map((part) => `@nestjs/${part}@11`);
    const graphql = ['@nestjs/graphql@13', '@nestjs/apollo@13', '@apollo/server@5', 'graphql@16'];
    const peers = [...parts, ...graphql, '@as-integrations/express5', 'rxjs@7', 'reflect-metadata'];
    const project = await install(peers);
    project.write({ 'graphql.mjs': GRAPHQL });
    const refused = expect.stringContaining('You have used up the quota of policy "Cats.cats".');
    expect(await project.run('graphql.mjs')).toEqual([
      [{ cats: 'cats' }, [], '"Cats.cats";r=2, "Cats.cats.concurrent";r=1'],
      [{ cats: 'cats' }, [], '"Cats.cats";r=1, "Cats.cats.concurrent";r=1'],
      [{ a: 'cats', b: null }, [refused], '"Cats.cats";r=0, "Cats.cats.concurrent";r=1'],
    ]);
  }, 240_000);
});
