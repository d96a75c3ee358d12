/** Shapers and limiters that are injected by name: forFeature. */

import { Controller, Get, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { remoteStore } from '@spillway/core/store';
import {
  createLimiter,
  getLimiterToken,
  getShaperToken,
  InjectLimiter,
  InjectShaper,
  type KeyedLimiter,
  type Limiters,
  type MakeShaper,
  memoryControl,
  memoryStore,
  SPILLWAY_STORE,
  type SpillwayFeature,
  SpillwayModule,
  type SpillwayOptions,
  type Store,
} from '@spillway/nestjs';
import { ManualClock } from '@spillway/nestjs/testing';
import { createShaper, type Shaper, type ShaperSettings } from '@spillway/outgoing';
import { SlowStore } from 'spillway-testkit';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { create, PLATFORMS, serve, until } from './service.js';

const [[, { adapter }]] = PLATFORMS;

/** A shaper of one job an hour. */
const hourly =
  (own: ShaperSettings = {}): MakeShaper =>
  (settings, name) =>
    createShaper({ name, limit: 1, window: '1h', maxWait: '2h' }, { ...settings, ...own });
const LOGINS = { limit: 2, window: '1h' } as const;
const SENDING = {
  limits: { customer: { limit: 9, window: '1h' }, carrier: { limit: 1, window: '1h' } },
} as const;

const DOWN: Store = remoteStore({ sync: false, apply: () => Promise.reject(new Error('down')) });

@Injectable()
class Messages {
  @InjectLimiter('logins') readonly logins!: KeyedLimiter<Store>;
  readonly acme: Shaper;
  readonly sending: Limiters<'customer' | 'carrier', Store>;

  constructor(acme: Shaper, sending: Limiters<'customer' | 'carrier', Store>) {
    this.acme = acme;
    this.sending = sending;
  }
}
InjectShaper('acme')(Messages, undefined, 0);
InjectLimiter('sending')(Messages, undefined, 1);

/** An app with one feature, not started. */
async function made(feature: SpillwayFeature, options: SpillwayOptions = {}) {
  const imports = [SpillwayModule.forFeature(feature), SpillwayModule.forRoot(options)];
  const app = await create(adapter, { imports });
  return {
    app,
    shaper: (name: string): Shaper => app.get(getShaperToken(name), { strict: false }),
    limiter: (name: string): KeyedLimiter<Store> =>
      app.get(getLimiterToken(name), { strict: false }),
  };
}

describe.each(PLATFORMS)('Nest on %s', (_, { adapter: platform }) => {
  it('injects shapers, limiters and several limiters by their names', async () => {
    const { app } = await serve(platform, {
      imports: [
        SpillwayModule.forRoot(),
        SpillwayModule.forFeature({
          shapers: { acme: hourly() },
          limiters: { logins: LOGINS, sending: SENDING },
        }),
      ],
      providers: [Messages],
    });
    const { acme, logins, sending } = app.get(Messages);
    expect([acme.name, logins.name, Object.keys(sending.rules)]).toEqual([
      'acme',
      'logins',
      ['customer', 'carrier'],
    ]);
    expect(await acme.schedule('a', () => 'sent')).toBe('sent');
    expect((await acme.reserve('a')).allowed).toBe(true);
    expect((await logins.consume('ada')).remaining).toBe(1);
    const keys = { customer: 'c1', carrier: 'x' };
    expect((await sending.consume(keys)).allowed).toBe(true);
    expect((await sending.consume(keys)).binding.limiter).toBe('carrier');
  });

  it('lets requests in progress have their slots while the app closes, and then none', async () => {
    let go: () => void = () => undefined;
    @Controller()
    class Sends {
      @InjectShaper('acme') readonly acme!: Shaper;

      @Get()
      async send(): Promise<string> {
        await new Promise<void>((resolve) => {
          go = resolve;
        });
        return this.acme.schedule('a', () => 'sent');
      }
    }
    const { app, get, server } = await serve(platform, {
      imports: [
        SpillwayModule.forRoot(),
        SpillwayModule.forFeature({ shapers: { acme: hourly() } }),
      ],
      controllers: [Sends],
    });
    const shaper: Shaper = app.get(getShaperToken('acme'), { strict: false });
    const reply = get();
    const asked = go;
    await until(() => go !== asked);
    const ended = app.close();
    await until(() => !server.listening);
    go();
    expect(await reply).toMatchObject({ status: 200, body: 'sent' });
    await ended;
    expect(await shaper.reserve('b')).toMatchObject({ allowed: false, reason: 'closed' });
  });
});

describe('a feature', () => {
  it('refuses jobs that wait when the app closes, and waits for those that run', async () => {
    const { app, shaper } = await made({ shapers: { acme: hourly(), other: hourly() } });
    let end: (value: string) => void = () => undefined;
    const runs = shaper('acme').schedule('a', () => new Promise((resolve) => (end = resolve)));
    const waits = shaper('acme').schedule('a', () => 'never');
    const waitsToo = shaper('other').schedule('a', () => 'first');
    const refused = expect(waits).rejects.toThrow('SPW_SHAPER_CLOSED');
    await waitsToo;
    let isClosed = false;
    const closed = app.close().then(() => {
      isClosed = true;
    });
    await refused;
    await new Promise(setImmediate);
    expect(isClosed).toBe(false);
    end('ran');
    expect(await runs).toBe('ran');
    await closed;
    expect(isClosed).toBe(true);
  });

  it('waits at most 5 s for a job that does not end', async () => {
    const { app, shaper } = await made({ shapers: { acme: hourly() } });
    void shaper('acme').schedule('a', () => new Promise(() => undefined));
    await new Promise(setImmediate);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    let isClosed = false;
    const closed = app.close().then(() => {
      isClosed = true;
    });
    for (let i = 0; i < 5; i += 1) await new Promise(setImmediate);
    await vi.advanceTimersByTimeAsync(4_999);
    expect(isClosed).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await closed;
  });

  it('uses the store of the module, under the name by which it is declared', async () => {
    const store = memoryStore();
    const { app, limiter } = await made({ limiters: { logins: LOGINS } }, { store });
    expect(app.get(SPILLWAY_STORE)).toBe(store);
    await limiter('logins').consume('ada');
    expect(createLimiter({ ...LOGINS, name: 'logins' }, { store }).peek('ada').used).toBe(1);
  });

  it('remembers refusals of the store by the clock of the module', async () => {
    const clock = new ManualClock();
    const shared = memoryStore({ clock });
    let calls = 0;
    const apply: Store['apply'] = async (steps) => {
      calls += 1;
      return shared.apply(steps);
    };
    const store: Store = remoteStore({ sync: false, apply });
    const { limiter } = await made({ limiters: { logins: LOGINS } }, { clock, store });
    const allowed = async () => (await limiter('logins').consume('ada')).allowed;
    expect([await allowed(), await allowed(), await allowed()]).toEqual([true, true, false]);
    expect([await allowed(), calls]).toEqual([false, 3]);
    clock.advance('30m');
    expect([await allowed(), calls]).toEqual([true, 4]);
  });

  it('follows the control of the module: its shapers have live paces', async () => {
    const control = memoryControl();
    const { shaper } = await made({ shapers: { acme: hourly() } }, { control });
    expect(shaper('acme').limit).toBe(1);
    const note = { by: 'ada', because: 'they allow more', for: '1h' } as const;
    control.set('acme', { limits: { limit: 60 } }, note);
    expect(shaper('acme').periodMs).toBe(60_000);
  });

  it('follows the control of the module: its limiters have live numbers, modes and keys', async () => {
    const control = memoryControl();
    const one = { limits: { one: { limit: 1, window: '1h' } } } as const;
    const { limiter } = await made({ limiters: { logins: LOGINS, several: one } }, { control });
    const note = { by: 'ada', because: 'a test', for: '1h' } as const;
    control.limitKey('logins', 'acme', { limit: 40 }, note);
    control.block('logins', 'eve', note);
    control.set('one', { mode: 'off' }, note);
    const logins = limiter('logins');
    expect((await logins.peek('acme')).policy?.limit).toBe(40);
    expect(await logins.consume('eve')).toMatchObject({ allowed: false, reason: 'blocked' });
    const several = limiter('several') as unknown as Limiters<'one', Store>;
    const twice = [await several.consume({ one: 'a' }), await several.consume({ one: 'a' })];
    expect(twice.map(({ allowed }) => allowed)).toEqual([true, true]);
  });

  it('has the observers of the module, and its onFault', async () => {
    const told: unknown[] = [];
    const faults: unknown[] = [];
    const { shaper, limiter } = await made(
      { shapers: { acme: hourly({ localShare: 1 }) }, limiters: { logins: LOGINS } },
      {
        store: DOWN,
        observers: [
          { onDecision: ({ limiter: name, outcome }) => void told.push([name, outcome]) },
        ],
        onFault: ({ limiter: name, source }) => void faults.push([name, source]),
      },
    );
    await shaper('acme').reserve('ada');
    await limiter('logins').consume('ada');
    expect(told).toEqual([
      ['acme', 'error'],
      ['logins', 'error'],
    ]);
    expect(faults).toEqual([
      ['acme', 'store'],
      ['logins', 'store'],
    ]);
  });

  it('does without its store what it says itself, else what the module says', async () => {
    const { limiter } = await made(
      {
        limiters: {
          open: LOGINS,
          shut: { ...LOGINS, onStoreError: 'deny' },
          counting: { limits: { one: { limit: 1, window: '1h' } }, onStoreError: 'local' },
        },
      },
      { store: DOWN, onStoreError: 'allow', logger: false },
    );
    expect(await limiter('open').consume('a', { cost: 3 })).toMatchObject({ allowed: true });
    expect(await limiter('shut').consume('a')).toMatchObject({ allowed: false });
    const counting = limiter('counting') as unknown as Limiters<'one', Store>;
    expect(await counting.consume({ one: 'a' })).toMatchObject({ allowed: true });
    expect(await counting.consume({ one: 'a' })).toMatchObject({ allowed: false });
  });

  it('waits for its store as long as the module says, or as it says itself', async () => {
    const store = remoteStore(new SlowStore());
    const patient = { storeTimeout: '60s' } as const;
    const brief = { onStoreError: 'deny' } as const;
    const { limiter, shaper } = await made(
      {
        shapers: { brief: hourly(brief), patient: hourly({ ...brief, ...patient }) },
        limiters: { logins: LOGINS, signups: { ...LOGINS, ...patient } },
      },
      { store, storeTimeout: '1ms', onStoreError: 'deny', logger: false },
    );
    const later = [limiter('signups').consume('a'), shaper('patient').reserve('a')];
    expect(await limiter('logins').consume('a')).toMatchObject({ outcome: 'error' });
    expect(await shaper('brief').reserve('a')).toMatchObject({ reason: 'store-error' });
    store.answer();
    expect(await Promise.all(later)).toMatchObject([{ outcome: 'allowed' }, { allowed: true }]);
  });

  it('is the same in every module that imports it', async () => {
    const feature = SpillwayModule.forFeature({ shapers: { acme: hourly() } });
    class Calls {}
    Module({ imports: [feature], exports: [feature] })(Calls);
    @Injectable()
    class User {
      @InjectShaper('acme') readonly acme!: Shaper;
    }
    class Other {}
    Module({ imports: [Calls], providers: [User] })(Other);
    const app = await create(adapter, { imports: [SpillwayModule.forRoot(), Calls, Other] });
    const shaper = app.get(getShaperToken('acme'), { strict: false });
    expect(app.get(User, { strict: false }).acme).toBe(shaper);
  });

  it('may be there more than once, and each is its own', async () => {
    const app = await create(adapter, {
      imports: [
        SpillwayModule.forRoot(),
        SpillwayModule.forFeature({ limiters: { logins: LOGINS } }),
        SpillwayModule.forFeature({ limiters: { signups: { ...LOGINS, limit: 7 } } }),
      ],
    });
    await app.init();
    const limits = ['logins', 'signups'].map(
      (name) => app.get<KeyedLimiter<Store>>(getLimiterToken(name), { strict: false }).name,
    );
    expect(limits).toEqual(['logins', 'signups']);
  });
});

describe('a mistake in a feature', () => {
  it.each<[string, SpillwayFeature]>([
    ['SPW_LIMIT_INVALID', { shapers: { acme: () => createShaper({ limit: 0, window: '1s' }) } }],
    ['SPW_WINDOW_INVALID', { limiters: { logins: { limit: 1, window: 'soon' as '1s' } } }],
    ['SPW_NAME_INVALID', { limiters: { ['ü'.repeat(65)]: LOGINS } }],
    ['SPW_OPTION_INVALID', { limiters: { sending: { limits: {} } } }],
    ['SPW_OPTION_INVALID', { shapers: { acme: 4 as unknown as MakeShaper } }],
    ['SPW_OPTION_INVALID', undefined as unknown as SpillwayFeature],
  ])('throws where it stands: %s', (code, feature) => {
    expect(() => SpillwayModule.forFeature(feature)).toThrow(code);
  });

  it('about the store ends the start of the app', async () => {
    const options = { store: DOWN };
    await expect(made({ shapers: { acme: hourly() } }, options)).rejects.toThrow('localShare must');
    const { shaper } = await made({ shapers: { acme: hourly({ localShare: 0.5 }) } }, options);
    expect(shaper('acme').name).toBe('acme');
  });

  it.each(['reference', 'deep-hash'] as const)(
    'of one name for two limits ends the start of an app, whose modules are told apart by %s',
    async (moduleIdGeneratorAlgorithm) => {
      class App {}
      Module({
        imports: [
          SpillwayModule.forRoot(),
          SpillwayModule.forFeature({ limiters: { logins: LOGINS } }),
          SpillwayModule.forFeature({ limiters: { logins: { ...LOGINS, limit: 3 } } }),
        ],
      })(App);
      const options = { logger: false, abortOnError: false, moduleIdGeneratorAlgorithm } as const;
      const context = NestFactory.createApplicationContext(App, options);
      await expect(context).rejects.toThrow('SPW_NAME_CONFLICT');
    },
  );

  it.each(['reference', 'deep-hash'] as const)(
    'beside two modules of options ends the start of an app, whose modules are told apart by %s',
    async (moduleIdGeneratorAlgorithm) => {
      class App {}
      Module({
        imports: [
          SpillwayModule.forRootAsync({ useFactory: () => ({ limiters: [] }) }),
          SpillwayModule.forRootAsync({ useFactory: () => ({ limiters: [], headers: [] }) }),
        ],
      })(App);
      const options = { logger: false, abortOnError: false, moduleIdGeneratorAlgorithm } as const;
      const context = NestFactory.createApplicationContext(App, options);
      await expect(context).rejects.toThrow('SPW_REGISTERED_TWICE');
    },
  );
});
