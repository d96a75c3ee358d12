import { describe, expect, it } from 'vitest';
import { TimerDrift, WaitMeter } from '../../src/node/wait-meter.js';

describe('the drift of a timer', () => {
  /** The timer fires, and the iteration of the loop ends `turnMs` later. */
  function fire(drift: TimerDrift, atMs: number, turnMs = 0): void {
    drift.fired(atMs);
    drift.turned(atMs + turnMs);
  }

  it('is none on time', () => {
    const drift = new TimerDrift(20, 0);
    for (let ms = 20; ms <= 200; ms += 20) fire(drift, ms);
    expect(drift.waitMs(210)).toBe(0);
  });

  it('is an average of what was, or what is now', () => {
    const drift = new TimerDrift(20, 0);
    fire(drift, 30); // 10 ms late; a period and a half weighs 1 - 0.8^1.5
    expect(drift.waitMs(30)).toBeCloseTo(10 * (1 - 0.8 ** 1.5), 9);
    expect(drift.waitMs(100)).toBe(50);
  });

  it('counts a long block in full', () => {
    const drift = new TimerDrift(20, 0);
    fire(drift, 1020);
    expect(drift.waitMs(1020)).toBeGreaterThan(999);
    expect(drift.coveredMs(1020)).toBe(1020);
  });

  it('sees a turn in which the timer fires more than once', () => {
    const drift = new TimerDrift(20, 0);
    for (let ms = 20; ms <= 200; ms += 20) drift.fired(ms); // other timers keep the loop from its sockets
    expect(drift.waitMs(200)).toBe(180);
    expect(drift.turned(210)).toBe(true);
    expect(drift.turned(210)).toBe(false);
    drift.fired(220);
    expect(drift.waitMs(220)).toBeGreaterThan(90); // it did not fire in any of the ten periods of 20 ms
  });

  it('sees a loop whose timers are on time and whose sockets wait', () => {
    const drift = new TimerDrift(20, 0);
    for (let ms = 20; ms <= 1000; ms += 20) fire(drift, ms, 18);
    expect(drift.waitMs(1018)).toBeCloseTo(18, 1);
    drift.fired(1020);
    expect(drift.waitMs(1060)).toBe(40); // the iteration has not ended
    drift.fired(1100); // nor when the timer fires again
    expect(drift.waitMs(1100)).toBeGreaterThan(45);
  });
});

describe('the wait of a loop', () => {
  /** Runs a timer of 20 ms for this long, each time `lateMs` late, on a loop that is active for a part of the time. */
  function play(meter: WaitMeter, from: Life, ms: number, lateMs: number, part: number): Life {
    let { nowMs, active, idle } = from;
    for (const endMs = nowMs + ms; nowMs < endMs; ) {
      const spanMs = 20 + lateMs;
      nowMs += spanMs;
      active += part * spanMs;
      idle += (1 - part) * spanMs;
      meter.fired(nowMs, { active, idle });
      meter.turned(nowMs, { active, idle });
    }
    return { nowMs, active, idle };
  }
  interface Life {
    readonly nowMs: number;
    readonly active: number;
    readonly idle: number;
  }
  const start: Life = { nowMs: 0, active: 0, idle: 0 };

  it('is 0 while the loop is busy for less than half of the time, however late it is', () => {
    const meter = new WaitMeter(20, 0, start);
    const end = play(meter, start, 5000, 80, 0.45);
    expect(meter.value(end.nowMs, end, 1)).toBe(0);
    expect(meter.coveredMs(end.nowMs)).toBe(100);
  });

  it('counts in full from half on', () => {
    const meter = new WaitMeter(20, 0, start);
    const end = play(meter, start, 5000, 80, 0.55);
    expect(meter.value(end.nowMs, end, 1)).toBeCloseTo(80, 3);
  });

  it('of an idle loop that becomes overloaded counts after 350 ms', () => {
    const meter = new WaitMeter(20, 0, start);
    const idle = play(meter, start, 2000, 0, 0);
    const early = play(meter, idle, 320, 20, 1);
    expect(meter.value(early.nowMs, early, 1)).toBe(0);
    const late = play(meter, early, 40, 20, 1);
    expect(meter.value(late.nowMs, late, 1)).toBeGreaterThan(15);
  });

  it('counts by the part of the processor that the process has, at least by half', () => {
    const waitAt = (share: number) => {
      const meter = new WaitMeter(20, 0, { ...start, cpu: 0 });
      let life = start;
      let cpu = 0;
      for (let fired = 0; fired < 100; fired++) {
        life = { nowMs: life.nowMs + 100, active: life.active + 100, idle: 0 };
        cpu += 100 * share;
        meter.fired(life.nowMs, { ...life, cpu });
        meter.turned(life.nowMs, { ...life, cpu });
      }
      return meter.value(life.nowMs, { ...life, cpu }, 40);
    };
    expect(waitAt(1)).toBeCloseTo(80 / 40, 3);
    expect(waitAt(0.75)).toBeCloseTo(60 / 40, 3);
    expect(waitAt(0)).toBeCloseTo(40 / 40, 3); // blocks on a disk
    expect(waitAt(3)).toBeCloseTo(80 / 40, 3); // other threads are counted too
  });

  it('is how long connections have waited to be accepted, in 400 ms, however short the turns are', () => {
    const meter = new WaitMeter(20, 0, { ...start, accepted: 0 });
    let [nowMs, accepted] = [0, 0];
    const turns = (count: number, pauseMs: number, accepts: number) => {
      for (let turn = 0; turn < count; turn++) {
        nowMs += 20;
        const idle = pauseMs * Math.round(nowMs / 20);
        const times = { active: nowMs - idle, idle };
        meter.fired(nowMs, { ...times, accepted });
        accepted += accepts;
        meter.fired(nowMs, { ...times, accepted }); // as a crowd of timers makes it
        meter.turned(nowMs, { ...times, accepted });
        meter.turned(nowMs, { ...times, accepted });
      }
      return meter.value(nowMs, undefined, 40);
    };
    expect(turns(40, 0, 1)).toBeCloseTo(800 / 400, 9);
    expect(turns(1, 0, 0)).toBe(0); // none was left
    expect(turns(10, 0, 1)).toBeCloseTo(200 / 400, 9);
  });

  it('sees no connections wait where one comes in each period, and not in each turn', () => {
    const meter = new WaitMeter(20, 0, { ...start, accepted: 0 });
    for (let turn = 1; turn <= 100; turn++) {
      // Work that reschedules itself with setImmediate: the loop never pauses, and turns many times in a period.
      const times = { active: 20 * turn, idle: 0, accepted: turn };
      meter.fired(20 * turn, times);
      meter.turned(20 * turn + 3, times);
    }
    expect(meter.value(2003, undefined, 40)).toBeLessThan(0.2);
  });

  it('sees connections wait after an hour with nothing to do', () => {
    const idle = 3_600_000;
    const meter = new WaitMeter(20, 0, { ...start, accepted: 0 });
    meter.fired(idle, { active: 0, idle, accepted: 0 });
    meter.turned(idle, { active: 0, idle, accepted: 0 });
    for (let turn = 1; turn <= 40; turn++) {
      const times = { active: 20 * turn, idle };
      meter.fired(idle + 20 * turn, { ...times, accepted: turn - 1 });
      meter.turned(idle + 20 * turn, { ...times, accepted: turn });
    }
    expect(meter.value(idle + 800, undefined, 1e9)).toBeCloseTo(800 / 400, 9);
  });

  it('sees no connections wait while the loop pauses, be it for a fiftieth of the time', () => {
    const meter = new WaitMeter(20, 0, { ...start, accepted: 0 });
    for (let turn = 1; turn <= 100; turn++) {
      const times = { active: 19.6 * turn, idle: 0.4 * turn };
      meter.fired(20 * turn, { ...times, accepted: turn - 1 });
      meter.turned(20 * turn, { ...times, accepted: turn });
    }
    expect(meter.value(2000, undefined, 40)).toBe(0);
  });

  it.each([undefined, start])(
    'sees no connections wait where the host counts nothing: %o',
    (times) => {
      const meter = new WaitMeter(20, 0, times);
      for (let turn = 1; turn <= 100; turn++) {
        meter.fired(20 * turn, times);
        meter.turned(20 * turn, times);
      }
      expect(meter.value(2000, times, 40)).toBe(0);
    },
  );

  it('sees the turn that is not over, as overload if it lasts', () => {
    const meter = new WaitMeter(20, 0, start);
    const { nowMs, active, idle } = play(meter, start, 2000, 0, 0);
    const after = (ms: number) => meter.value(nowMs + ms, { active: active + ms, idle }, 1);
    expect(after(300)).toBe(0);
    expect(after(400)).toBe(380);
  });

  it('counts in full as long as the host has counted nothing', () => {
    const meter = new WaitMeter(20, 0, { active: 0, idle: 0 });
    meter.fired(50, { active: 0, idle: 0 });
    expect(meter.value(50, { active: 0, idle: 0 }, 1)).toBeGreaterThan(10);
  });
});
