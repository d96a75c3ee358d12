/** Processes that share idempotency keys, clients that retry, and what both have seen. */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { delay, type Random } from 'spillway-testkit';
import { type Demo, launch } from 'spillway-testkit/processes';
import { onTestFinished } from 'vitest';

const SERVICE = join(import.meta.dirname, 'once-service.js');
const PROCESSES = 4;
const DUPLICATES = 100;

/** How many keys are in use at a time, each by all its duplicates. */
const KEYS_AT_ONCE = 4;

/** What a request got: status 0 for a connection that failed. Times are milliseconds since the epoch. */
export interface Reply {
  readonly key: string;
  readonly status: number;
  readonly body: string;
  readonly isRepeat: boolean;
  readonly sentMs: number;
  readonly gotMs: number;
}

/** Whether the request was done but its response could not be stored. */
export function isNotKept({ status, body }: Reply): boolean {
  return status === 409 && JSON.parse(body).title === 'Response not stored';
}

/** A run of the handler. `askedMs`: when its request arrived, before its claim was taken. */
export interface Run {
  readonly key: string;
  readonly token: string;
  /** The name of its process. */
  readonly by: string;
  readonly askedMs: number;
  readonly begunMs: number;
  /** When its effect was there; undefined if the process was killed before. */
  doneMs: number | undefined;
}

interface FleetOptions {
  readonly url: string;
  readonly random: Random;
  readonly leaseMs: number;
  readonly keepFirst?: boolean;
  /** The longest time that a handler works. */
  readonly workMs?: number;
}

/** Every process has a unique name, even one that replaces another. */
export class OnceFleet {
  readonly replies: Reply[] = [];
  /** When each process was killed, by its name. */
  readonly killedMs = new Map<string, number>();
  /** How many keys were in use at each kill. */
  readonly askedAtKills: number[] = [];
  private readonly agent = new http.Agent({ keepAlive: true });
  private readonly effects = mkdtempSync(join(tmpdir(), 'spillway-once-'));
  private readonly options: FleetOptions;
  private readonly demos: Demo[] = [];
  private readonly names: string[] = [];
  private asked = 0;
  private begun = 0;

  private constructor(options: FleetOptions) {
    this.options = options;
    onTestFinished(() => {
      for (const { process } of this.demos) process.kill('SIGKILL');
      this.agent.destroy();
      rmSync(this.effects, { recursive: true });
    });
  }

  static async start(options: FleetOptions): Promise<OnceFleet> {
    const fleet = new OnceFleet(options);
    await Promise.all(Array.from({ length: PROCESSES }, (_, at) => fleet.launch(at)));
    return fleet;
  }

  /**
   * Sends each key a hundred times at once, a few keys at a time. Each of these requests is retried until it has its
   * response.
   */
  async chargeAll(keys: readonly string[]): Promise<void> {
    const left = [...keys];
    const next = async (): Promise<void> => {
      for (let key = left.shift(); key !== undefined; key = left.shift()) {
        this.asked += 1;
        this.begun += 1;
        await Promise.all(Array.from({ length: DUPLICATES }, () => this.charge(key as string)));
        this.asked -= 1;
      }
    };
    await Promise.all(Array.from({ length: KEYS_AT_ONCE }, next));
  }

  /** How many keys have been used so far. */
  get keysBegun(): number {
    return this.begun;
  }

  /** Sends the request to one process, then to others, until the response is there or is reported as lost. */
  async charge(key: string): Promise<Reply> {
    for (let pauseMs = 50; ; pauseMs = Math.min(2 * pauseMs, 500)) {
      const reply = await this.ask(key);
      if (reply.status === 201 || isNotKept(reply)) return reply;
      await delay(pauseMs * (0.5 + this.options.random.uniform()));
    }
  }

  /** Until `isGoing` returns false, kills a random process every 0.2 to 1 s, and starts another in its place. */
  async killAtRandom(isGoing: () => boolean): Promise<void> {
    const { random } = this.options;
    for (;;) {
      await delay(200 + 800 * random.uniform());
      if (!isGoing()) return;
      await this.replace(Math.floor(random.uniform() * PROCESSES));
    }
  }

  /** The runs of the handlers, sorted by `askedMs`. */
  runs(): readonly Run[] {
    const runs = new Map<string, Run>();
    for (const file of readdirSync(this.effects)) {
      for (const line of readFileSync(join(this.effects, file), 'utf8').split('\n')) {
        if (line === '') continue;
        const { what, atMs, ...run } = JSON.parse(line);
        if (what === 'begun') runs.set(run.token, { ...run, begunMs: atMs, doneMs: undefined });
        else (runs.get(run.token) as Run).doneMs = atMs;
      }
    }
    return [...runs.values()].sort((one, other) => one.askedMs - other.askedMs);
  }

  private async replace(at: number): Promise<void> {
    this.killedMs.set(this.names[at] as string, Date.now());
    this.askedAtKills.push(this.asked);
    this.demos[at]?.process.kill('SIGKILL');
    await this.launch(at);
  }

  private async launch(at: number): Promise<void> {
    const { url, leaseMs, keepFirst = false, workMs = 30 } = this.options;
    const name = `p${at}.${this.killedMs.size}`;
    this.names[at] = name;
    this.demos[at] = await launch([process.execPath, SERVICE], {
      REDIS_URL: url,
      NAME: name,
      EFFECTS: this.effects,
      LEASE: `${leaseMs}ms`,
      KEEP_FIRST: `${keepFirst}`,
      WORK_MS: `${workMs}`,
    });
  }

  private async ask(key: string): Promise<Reply> {
    const at = Math.floor(this.options.random.uniform() * PROCESSES);
    const sentMs = Date.now();
    const { status, body, isRepeat } = await this.post(this.demos[at] as Demo, key);
    const reply = { key, status, body, isRepeat, sentMs, gotMs: Date.now() };
    this.replies.push(reply);
    return reply;
  }

  private post({ url }: Demo, key: string): Promise<Pick<Reply, 'status' | 'body' | 'isRepeat'>> {
    const headers = { 'Idempotency-Key': key, 'X-Account': 'ada', 'Content-Type': 'text/plain' };
    return new Promise((resolve) => {
      const broken = (): void => resolve({ status: 0, body: '', isRepeat: false });
      const options = { method: 'POST', agent: this.agent, headers };
      const request = http.request(`${url}/charges`, options, (response) => {
        let body = '';
        response.on('data', (chunk) => {
          body += String(chunk);
        });
        response.once('error', broken);
        response.once('end', () => {
          const { statusCode: status = 0, headers } = response;
          resolve({ status, body, isRepeat: headers['idempotency-replayed'] === 'true' });
        });
      });
      request.once('error', broken);
      request.end(`charge ${key}`);
    });
  }
}
