/** Virtual time: one queue of events, and processes that have separate clocks and timers. */

import { Random } from './random.js';

/** Epoch of the simulated world: 2026-01-01T00:00:00Z. */
export const EPOCH_US = 1_767_225_600_000_000;

/** The order of events that are due at once. As in Node.js, timers come first, then input, then immediates. */
export type Phase = 'timer' | 'input' | 'immediate';

const PHASES: readonly Phase[] = ['timer', 'input', 'immediate'];

interface Event {
  atUs: number;
  readonly phase: number;
  readonly order: number;
  readonly process: Process | undefined;
  readonly run: () => void;
  isCancelled: boolean;
}

export class World {
  /** True time, in microseconds since the history began. */
  nowUs = 0;
  readonly random: Random;
  private readonly events: Event[] = [];
  private order = 0;
  private waited: unknown[] = [];

  constructor(seed: number) {
    this.random = new Random(seed);
  }

  /** Returns a function that cancels the event. */
  at(atUs: number, run: () => void, process?: Process, phase: Phase = 'input'): () => void {
    this.order += 1;
    const event: Event = {
      atUs: Math.max(atUs, this.nowUs),
      phase: PHASES.indexOf(phase),
      order: this.order,
      process,
      run,
      isCancelled: false,
    };
    this.push(event);
    return () => {
      event.isCancelled = true;
    };
  }

  /** Stops the simulation until a promise settles. */
  waitFor(promise: unknown): void {
    if (promise instanceof Promise) this.waited.push(promise);
  }

  async runUntil(untilUs: number): Promise<void> {
    for (;;) {
      const next = this.events[0];
      if (!next || next.atUs > untilUs) break;
      this.pop();
      const { process } = next;
      if (next.isCancelled || process?.isDead) continue;
      this.nowUs = next.atUs;
      if (process && process.frozenUntilUs > this.nowUs) {
        next.atUs = process.frozenUntilUs;
        this.push(next);
        continue;
      }
      next.run();
      // Lets code that awaits settled promises run before the next event.
      await new Promise(setImmediate);
      while (this.waited.length > 0) {
        await Promise.all(this.waited.splice(0));
        await new Promise(setImmediate);
      }
    }
    this.nowUs = untilUs;
  }

  private push(event: Event): void {
    const { events } = this;
    let at = events.length;
    events.push(event);
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!isBefore(event, events[above] as Event)) break;
      events[at] = events[above] as Event;
      at = above;
    }
    events[at] = event;
  }

  private pop(): void {
    const { events } = this;
    const last = events.pop() as Event;
    if (events.length === 0) return;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= events.length) break;
      if (below + 1 < events.length && isBefore(events[below + 1] as Event, events[below] as Event))
        below += 1;
      if (!isBefore(events[below] as Event, last)) break;
      events[at] = events[below] as Event;
      at = below;
    }
    events[at] = last;
  }
}

function isBefore(one: Event, other: Event): boolean {
  if (one.atUs !== other.atUs) return one.atUs < other.atUs;
  return one.phase !== other.phase ? one.phase < other.phase : one.order < other.order;
}

export interface ProcessClock {
  /** By how much the clock runs too fast, in parts per million. */
  readonly driftPpm: number;
  /** How far the clock is ahead when the world begins, in microseconds. */
  readonly offsetUs: number;
}

/** A process, which can be frozen and killed. Its program gets simulated clocks, timers and random numbers. */
export class Process {
  readonly name: string;
  isDead = false;
  frozenUntilUs = 0;
  timers = 0;
  /** An entry for each timer that was set while at least twelve others ran: the time, and how many timers then ran. */
  readonly manyTimers: { readonly atUs: number; readonly timers: number }[] = [];
  readonly lines: string[] = [];
  private readonly world: World;
  private readonly clock: ProcessClock;

  constructor(name: string, world: World, clock: ProcessClock) {
    this.name = name;
    this.world = world;
    this.clock = clock;
  }

  localUs(): number {
    return this.world.nowUs * this.rate;
  }

  epochUs(): number {
    return EPOCH_US + this.clock.offsetUs + this.localUs();
  }

  private get rate(): number {
    return 1 + this.clock.driftPpm / 1_000_000;
  }

  /**
   * Evaluates a program, the text of a CommonJS module, and returns what it exports.
   *
   * @throws Error that the program throws
   */
  boot(program: string): unknown {
    const globals = this.globals();
    const names = Object.keys(globals);
    const code = makeOf(program, names);
    const module = { exports: {} };
    const host = Object.create(globalThis, Object.getOwnPropertyDescriptors(globals)) as object;
    code(module, module.exports, host, ...names.map((name) => globals[name]));
    return module.exports;
  }

  private globals(): Record<string, unknown> {
    const { world, clock } = this;
    const random = new Random(world.random.between(0, 2 ** 31));
    const originMs = (EPOCH_US + clock.offsetUs) / 1_000;
    const nowMs = (): number => originMs + this.localUs() / 1_000;
    const setTimer = (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): Timer => {
      const wait =
        (Math.max(1, Number(ms) || 0) * 1_000) / this.rate + world.random.between(0, 300);
      return new Timer(this, world, wait, () => run(...args));
    };
    return {
      performance: { timeOrigin: originMs, now: () => this.localUs() / 1_000 },
      setTimeout: setTimer,
      clearTimeout: (timer?: Timer) => timer?.clear?.(),
      setImmediate: (run: () => void) => world.at(world.nowUs, run, this, 'immediate'),
      Date: dateAt(nowMs),
      Math: Object.create(Math, { random: { value: () => random.uniform() } }),
      crypto: {
        getRandomValues<Words extends Uint8Array | Uint32Array | Int32Array>(words: Words): Words {
          for (let at = 0; at < words.length; at += 1) words[at] = random.uniform() * 2 ** 32;
          return words;
        },
      },
      console: {
        log: (line: string) => this.lines.push(line),
        warn: (line: string) => this.lines.push(line),
      },
      process: {},
    };
  }
}

/** Functions compiled from programs. All processes that run one program share its compiled code. */
const made = new Map<string, (...args: unknown[]) => void>();

function makeOf(program: string, names: readonly string[]): (...args: unknown[]) => void {
  let code = made.get(program);
  if (!code) {
    const parameters = ['module', 'exports', 'globalThis', ...names];
    code = new Function(...parameters, program) as (...args: unknown[]) => void;
    if (made.size > 8) made.clear();
    made.set(program, code);
  }
  return code;
}

class Timer {
  private readonly process: Process;
  private readonly cancel: () => void;
  private isSet = true;

  constructor(process: Process, world: World, waitUs: number, run: () => void) {
    this.process = process;
    process.timers += 1;
    if (process.timers > 12) process.manyTimers.push({ atUs: world.nowUs, timers: process.timers });
    const fire = (): void => {
      this.clear();
      run();
    };
    this.cancel = world.at(world.nowUs + Math.ceil(waitUs), fire, process, 'timer');
  }

  clear(): void {
    if (!this.isSet) return;
    this.isSet = false;
    this.process.timers -= 1;
    this.cancel();
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

function dateAt(nowMs: () => number): DateConstructor {
  return class extends Date {
    constructor(...args: []) {
      super(...(args.length > 0 ? args : ([nowMs()] as unknown as [])));
    }

    static override now(): number {
      return Math.floor(nowMs());
    }
  } as DateConstructor;
}
