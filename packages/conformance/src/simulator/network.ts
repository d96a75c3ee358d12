/** The server and the connections of processes to it, with the faults between them. */

import { EPOCH_US, type Process, type World } from './world.js';

/** A server, or a model of one. By the clocks of the simulation, it answers in zero time. */
export interface Server {
  /**
   * Runs a request at an instant by the server's clock, in microseconds since the epoch. May return a promise: the
   * simulation stands still until it settles.
   *
   * @throws Error that the client gets
   */
  handle(request: unknown, nowUs: number): unknown;
  /** An immutable copy of all data, for {@link Server.restart}; undefined if the server can't make one. */
  snapshot(): unknown;
  /** Restarts with the data of a snapshot, or without data. May return a promise, as {@link Server.handle} may. */
  restart(snapshot?: unknown): unknown;
  /** How many keys have not expired; 0 if unknown. */
  size(nowUs: number): number;
  /** How many changes there have been; 0 if unknown. */
  readonly writes: number;
}

export interface Execution {
  readonly process: Process;
  readonly trueUs: number;
  /** The time by the server's clock. It is unique, unless the clock was set back. */
  readonly serverUs: number;
  readonly writes: number;
}

/** A restart of the server. Changes after the first `kept` executions are lost. */
export interface Restart {
  readonly trueUs: number;
  readonly serverUs: number;
  readonly executions: number;
  readonly kept: number;
}

/** The current network faults, as probabilities for each message. */
export interface Weather {
  readonly loseRequest: number;
  /** The probability that the server runs a request, but the reply never arrives. */
  readonly loseReply: number;
  /** The probability that the server runs a request twice, as if the client had sent it again. */
  readonly repeat: number;
  /** The probability that a message takes up to {@link LATE_US}. */
  readonly late: number;
}

const FAIR: Weather = { loseRequest: 0, loseReply: 0, repeat: 0, late: 0 };
const LATE_US = 2_500_000;
const SNAPSHOT_EVERY_US = 100_000;
/** How far a replica lags behind. A failover loses the writes of this time. */
const LAG_US = 1_000_000;

export class Host {
  readonly executions: Execution[] = [];
  readonly restarts: Restart[] = [];
  backSteps = 0;
  weather: Weather = FAIR;
  keepsSnapshots = false;
  isDown = false;
  hungUntilUs = 0;
  private skewUs = 0;
  private lastUs = 0;
  private readonly links = new Set<Link>();
  private snapshots: {
    readonly atUs: number;
    readonly executions: number;
    readonly all: unknown;
  }[] = [];
  readonly world: World;
  readonly server: Server;

  constructor(world: World, server: Server, aheadUs: number) {
    this.world = world;
    this.server = server;
    this.skewUs = aheadUs;
  }

  nowUs(): number {
    return EPOCH_US + this.world.nowUs + this.skewUs;
  }

  trueUs(serverUs: number): number {
    return serverUs - EPOCH_US - this.skewUs;
  }

  connect(process: Process): Link {
    const link = new Link(this, process);
    this.links.add(link);
    return link;
  }

  setClock(byUs: number): void {
    this.skewUs += byUs;
    if (byUs < 0) {
      this.backSteps += 1;
      this.lastUs = 0;
    }
  }

  calm(): void {
    this.weather = FAIR;
  }

  /**
   * Restarts the server with all data, with no data, or with a replica's data of a second ago. A server that makes no
   * snapshots always restarts without data.
   */
  restart(keeps: 'all' | 'nothing' | 'replicated'): void {
    const { executions, world } = this;
    this.keepSnapshot(true);
    const before = world.nowUs - (keeps === 'replicated' ? LAG_US : 0);
    const last = this.snapshots.findLast(({ atUs }) => atUs <= before) ?? this.snapshots[0];
    const kept = keeps === 'nothing' || last?.all === undefined ? undefined : last;
    world.waitFor(this.server.restart(kept?.all));
    // The data of a replica that was not promoted is dropped.
    this.snapshots = [];
    this.restarts.push({
      trueUs: world.nowUs,
      serverUs: this.nowUs(),
      executions: executions.length,
      kept: kept?.executions ?? 0,
    });
    this.keepSnapshot(true);
    for (const link of this.links) link.drop();
  }

  stop(): void {
    this.isDown = true;
    for (const link of this.links) link.drop();
  }

  run(process: Process, request: unknown, then: (reply: () => unknown) => void): void {
    const { server, world } = this;
    this.keepSnapshot(false);
    // Two calls never run in the same microsecond, so their times give their order.
    this.lastUs = Math.max(this.nowUs(), this.lastUs + 1);
    const before = server.writes;
    const execution = { process, trueUs: world.nowUs, serverUs: this.lastUs, writes: 0 };
    this.executions.push(execution);
    const end = (reply: () => unknown): void => {
      execution.writes = server.writes - before;
      then(reply);
    };
    const fail = (error: unknown): void =>
      end(() => {
        throw error;
      });
    try {
      const value = server.handle(request, this.lastUs);
      if (value instanceof Promise) world.waitFor(value.then((reply) => end(() => reply), fail));
      else end(() => value);
    } catch (error) {
      fail(error);
    }
  }

  private keepSnapshot(now: boolean): void {
    if (!this.keepsSnapshots) return;
    const { snapshots, world, executions } = this;
    const last = snapshots.at(-1);
    if (!now && last && world.nowUs - last.atUs < SNAPSHOT_EVERY_US) return;
    snapshots.push({
      atUs: world.nowUs,
      executions: executions.length,
      all: this.server.snapshot(),
    });
    if (snapshots.length > 40) snapshots.shift();
  }
}

interface Pending {
  resolve(reply: unknown): void;
  reject(error: unknown): void;
}

/** The connection of one process. Like TCP, it delivers requests and replies in the order in which they were sent. */
export class Link {
  state: 'ready' | 'connecting' = 'ready';
  /**
   * The true time at which the next request should arrive at the server. If it is in the past, a normal latency
   * applies.
   */
  wishUs: number | undefined;
  private readonly host: Host;
  private readonly process: Process;
  private readonly pending = new Set<Pending>();
  private listeners: (() => void)[] = [];
  private connection = 0;
  private lastArrivalUs = 0;
  private lastReplyUs = 0;

  constructor(host: Host, process: Process) {
    this.host = host;
    this.process = process;
  }

  /**
   * Sends a request. Rejects with the server's error, or if there is no connection or it ends. If a message is lost,
   * the promise stays pending until the connection ends.
   */
  send(request: unknown): Promise<unknown> {
    const { host, process, connection } = this;
    const { world } = host;
    if (this.state !== 'ready') return Promise.reject(closed());
    return new Promise((resolve, reject) => {
      const pending = { resolve, reject };
      this.pending.add(pending);
      if (world.random.chance(host.weather.loseRequest)) return;
      const wishUs = this.wishUs ?? 0;
      this.wishUs = undefined;
      const arrivalUs = wishUs > world.nowUs ? wishUs : world.nowUs + this.latencyUs();
      this.lastArrivalUs = Math.max(this.lastArrivalUs + 1, arrivalUs);
      const arrive = (): void => {
        if (connection !== this.connection) return;
        if (host.hungUntilUs > world.nowUs) {
          world.at(host.hungUntilUs, arrive);
          return;
        }
        const isRepeated = world.random.chance(host.weather.repeat);
        const isLost = world.random.chance(host.weather.loseReply);
        host.run(process, request, (reply) => {
          if (isRepeated) host.run(process, request, () => undefined);
          if (isLost) return;
          this.lastReplyUs = Math.max(this.lastReplyUs + 1, world.nowUs + this.latencyUs());
          world.at(this.lastReplyUs, () => this.settle(pending, reply), process);
        });
      };
      world.at(this.lastArrivalUs, arrive);
    });
  }

  /** Calls `listener` once when {@link state} may have changed. Returns a function that cancels this. */
  onceChanged(listener: () => void): () => void {
    this.listeners.push(listener);
    return () => {
      this.listeners = this.listeners.filter((one) => one !== listener);
    };
  }

  /** Ends the connection. The process is notified, and connects again when the server is up. */
  drop(): void {
    const { world } = this.host;
    this.connection += 1;
    world.at(world.nowUs + this.latencyUs(), () => this.lost(), this.process);
  }

  private lost(): void {
    this.state = 'connecting';
    const failed = [...this.pending];
    this.pending.clear();
    for (const { reject } of failed) reject(closed());
    this.changed();
    this.connectLater();
  }

  private connectLater(): void {
    const { host, process } = this;
    const { world } = host;
    const connect = (): void => {
      if (host.isDown || host.hungUntilUs > world.nowUs) {
        this.connectLater();
        return;
      }
      this.state = 'ready';
      this.lastArrivalUs = 0;
      this.lastReplyUs = 0;
      this.changed();
    };
    world.at(world.nowUs + world.random.between(20_000, 200_000), connect, process);
  }

  private changed(): void {
    const { listeners } = this;
    this.listeners = [];
    for (const listener of listeners) listener();
  }

  private settle(pending: Pending, reply: () => unknown): void {
    if (!this.pending.delete(pending)) return;
    try {
      pending.resolve(reply());
    } catch (error) {
      pending.reject(error);
    }
  }

  private latencyUs(): number {
    const { random } = this.host.world;
    if (random.chance(this.host.weather.late)) return random.between(5_000, LATE_US);
    return 60 + random.around(250);
  }
}

function closed(): Error {
  return new Error('Connection is closed.');
}
