/** Rejections cached by limits without HTTP, and the clock by which they end. */

import { type Answer, createLimiter, type Step } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { describe, expect, it } from 'vitest';
import { Remote, setUp } from './refusals-set-up.js';

/** Delays resets on their way to the store. */
class SlowResets extends Remote {
  arrive: () => void = () => undefined;
  private readonly way = new Promise<void>((resolve) => {
    this.arrive = resolve;
  });

  override async apply(steps: readonly Step[]): Promise<readonly Answer[]> {
    if (steps[0]?.op === 'reset') await this.way;
    return super.apply(steps);
  }
}

describe('a limiter without a guard', () => {
  const make = (options = {}) => {
    const store = remoteStore(new Remote());
    const limiter = createLimiter({ name: 'ten', limit: 10, window: '10s' }, { store, ...options });
    return { store, limiter };
  };

  it('refuses a key that was refused without a call, until the promised moment', async () => {
    const { store, limiter } = make();
    await limiter.consume('ada', { cost: 10 });
    await limiter.consume('ada');
    store.clock.advance(999);
    expect(await limiter.consume('ada')).toMatchObject({ allowed: false, retryAfterMs: 1 });
    expect(await limiter.consume('ada', { cost: 2 })).toMatchObject({ retryAfterMs: 1001 });
    expect(store.asked).toBe(2);
    store.clock.advance(1);
    expect(await limiter.consume('ada')).toMatchObject({ allowed: true });
  });

  it('asks always to peek and if told so, and not for keys beside one that is known to be rejected', async () => {
    const { store, limiter } = make();
    await limiter.consume('ada', { cost: 10 });
    await limiter.consume('ada');
    expect(await limiter.peek('ada')).toMatchObject({ allowed: false });
    expect(store.asked).toBe(3);
    const all = await limiter.consumeAll(['ada', 'bob']);
    expect(all).toMatchObject({ allowed: false, binding: { outcome: 'denied' } });
    expect(all.decisions.map(({ outcome }) => outcome)).toEqual(['denied', 'skipped']);
    await limiter.peek(['ada', 'bob']);
    expect(store.asked).toBe(5);
    const stubborn = make({ denialCache: false });
    await stubborn.limiter.consume('ada', { cost: 10 });
    for (let i = 0; i < 3; i += 1) await stubborn.limiter.consume('ada');
    expect(stubborn.store.asked).toBe(4);
  });

  it('forgets what was refused while a reset was on its way to the store', async () => {
    const store = remoteStore(new SlowResets());
    const limiter = createLimiter({ name: 'ten', limit: 10, window: '10s' }, { store });
    await limiter.consume('ada', { cost: 10 });
    const reset = limiter.reset('ada');
    store.clock.advance(1);
    expect(await limiter.consume('ada')).toMatchObject({ allowed: false });
    store.arrive();
    await reset;
    expect(await limiter.consume('ada')).toMatchObject({ allowed: true });
  });

  it('knows that what was recorded lengthens the wait', async () => {
    const { limiter } = make();
    await limiter.consume('ada', { cost: 8 });
    expect(await limiter.consume('ada', { cost: 4 })).toMatchObject({ retryAfterMs: 2000 });
    await limiter.record('ada', { cost: 2 });
    expect(await limiter.consume('ada', { cost: 4 })).toMatchObject({ retryAfterMs: 4000 });
  });
});

describe('two clocks', () => {
  it('refuse no longer than the store would, and tell no shorter wait, though answers take time', async () => {
    const { store, clock, admit, ask } = setUp();
    await admit();
    store.held = [];
    const refused = admit(); // decided at once; the reply takes 300 ms
    clock.advance(300);
    for (const answer of store.held) answer();
    await refused;
    store.held = undefined;
    // The wait was 60 s when the call was sent. 300 ms of it may have passed before the decision.
    expect(await ask()).toMatchObject({ retryAfterMs: 60_000, calls: 0 });
    clock.advance(59_699.999);
    expect(await ask()).toMatchObject({ allowed: false, calls: 0 });
    clock.advance(0.001);
    expect(await ask()).toMatchObject({ allowed: true, calls: 1 });
  });
});
