import type {
  Answer,
  Control,
  Decision,
  Guard,
  KeyedLimiter,
  LimiterSettings,
  Limiters,
  LimitRequest,
  Meter,
  RateAlgorithm,
  Step,
  Store,
} from '@spillway/core';
import type { FetchGuard } from '@spillway/core/fetch';
import { seen } from '../probe.js';
import type { Call, History, Outcome, Run, Start, Units } from './history.js';
import { Host, type Link, type Server } from './network.js';
import { type Act, type Fault, lateCost, type Plan } from './plan.js';
import { QuotaBooks, type QuotaCaller, startOf } from './quotas.js';
import { Process, World } from './world.js';

/**
 * What a program exports. Bundle the program, including core, into the text of one self-contained CommonJS module. Each
 * process evaluates this text with its own clock, timers and random numbers.
 */
export interface Program {
  readonly core: typeof import('@spillway/core');
  readonly fetchGuard: typeof import('@spillway/core/fetch').fetchGuard;
  /** `createShaper` of @spillway/outgoing. Without it, the simulation runs no jobs. */
  readonly createShaper?: (
    options: {
      name: string;
      limit: number;
      window: number;
      burst: number;
      maxWait: string;
      maxConcurrent?: number;
      lease?: number;
    },
    settings: { store: Store; localShare: number; logger: false },
  ) => Shaper;
  /** `withDebt` of @spillway/core/store. Without it, only the limit of `spend` acts has debt. */
  readonly withDebt?: typeof import('@spillway/core/store').withDebt;
  /** Opens the store on a connection to the server. */
  open(link: Link): Store;
  /** Opens a control on a connection to the server. Without it, the simulation changes no limit live. */
  openControl?(link: Link): LiveControl;
}

interface LiveControl extends Control {
  set(
    limiter: string,
    settings: LimiterSettings,
    note: { readonly by: string; readonly because: string; readonly for: number | 'forever' },
  ): Promise<void>;
}

interface Shaper {
  schedule<Value>(
    key: string,
    work: () => Value | Promise<Value>,
    options?: { readonly signal?: AbortSignal },
  ): Promise<Value>;
  pause(key: string, duration: number): Promise<void> | void;
}

/** The input of {@link simulate}: the text of a {@link Program}, and the servers that its store uses. */
export interface Subject {
  readonly program: string;
  /**
   * A second build of the program, which every second process runs. A deploy switches a process to the other build.
   * Default: `program`.
   */
  readonly other?: string | undefined;
  /** Makes an empty server. */
  server(): Server;
}

const SETTLE_US = 6_000_000;
const RESTART_US = 200_000;
/** If a key was not locked for this time, its next lock is as long as the first one. */
const FORGET_MS = 3_000;
/** How long a process waits for its requests before it closes, and how long it may take to close. */
const DRAIN_US = 4_000_000;
const CLOSE_US = 5_000_000;

const SPEND_MS = 86_400_000;

/** More than two periods of the `quota` limit. After this time, its counts have expired. */
const MONTHS_US = 70 * SPEND_MS * 1_000;

function forgottenUs({ rates, spend }: Plan): number {
  const longest = rates.map(({ limit, windowMs, burst = limit, debt = 0 }) => {
    return windowMs * (2 + (burst + debt) / limit);
  });
  if (spend) longest.push(SPEND_MS * (2 + spend.debt / spend.limit));
  return 90_000_000 + Math.max(...longest) * 1_000;
}

interface App {
  readonly process: Process;
  readonly store: Store;
  readonly link: Link;
  readonly limiters: Limiters<string, Store>;
  readonly probe: KeyedLimiter<Store>;
  readonly guard: Guard<Caller>;
  readonly spending:
    | { readonly guard: Guard<Spender>; readonly meter: Meter<number, Spender> }
    | undefined;
  readonly quotas: Guard<QuotaCaller> | undefined;
  readonly once: FetchGuard<Request, [Handling]>;
  readonly handler: (request: Request, handling: Handling) => Promise<Response>;
  readonly shaper: Shaper | undefined;
  readonly control: LiveControl | undefined;
  /** Whether the app has limits on distinct items. The build of an older release may lack them. */
  readonly hasDistinct: boolean;
  readonly granted: { readonly decisions: Readonly<Record<string, Decision>> }[];
}

function waitUs({ rule, cost }: Step, answer: Answer | undefined): number {
  if (!answer || answer.allowed) return 0;
  return Math.round(seen(rule, answer, cost).retryAfterMs * 1_000);
}

interface Caller {
  readonly key: string;
  readonly critical: boolean;
}

interface Spender {
  readonly key: string;
  readonly reserve: number;
}

interface Handling {
  readonly act: number;
  readonly id: string;
  readonly holdUs: number;
  readonly status: number;
}

export async function run(plan: Plan, subject: Subject): Promise<History> {
  return new Running(plan, subject).toEnd();
}

class Running {
  private readonly plan: Plan;
  private readonly subject: Subject;
  private readonly world: World;
  private readonly host: Host;
  private readonly processes: Process[] = [];
  private readonly apps: App[] = [];
  private readonly calls: Call[] = [];
  private readonly outcomes: Outcome[] = [];
  private readonly runs: Run[] = [];
  private readonly starts: Start[] = [];
  private readonly units: Units[] = [];
  private readonly books: QuotaBooks | undefined;
  private readonly refunds = new Map<object, number>();
  private readonly deploys = new Map<number, number>();
  private acting: number | undefined;

  constructor(plan: Plan, subject: Subject) {
    // A build of an older release may not limit how many jobs run at once.
    this.plan = subject.other === undefined ? plan : { ...plan, jobsAtOnce: undefined };
    this.subject = subject;
    this.world = new World(plan.seed);
    const { quota } = plan;
    this.host = new Host(this.world, subject.server(), -(quota?.endsUs ?? 0));
    this.books = quota && new QuotaBooks(quota, this.world);
    this.host.keepsSnapshots = plan.faults.some(({ kind }) => kind === 'restart');
  }

  async toEnd(): Promise<History> {
    const { plan, world, host } = this;
    for (const at of plan.clocks.keys()) this.boot(at);
    for (const [at, act] of plan.acts.entries()) world.at(act.atUs, () => this.begin(act, at));
    for (const fault of plan.faults) world.at(fault.atUs, () => this.fail(fault));
    const ends = [...plan.acts, ...plan.faults].map(
      (one) => one.atUs + ('forUs' in one ? one.forUs : 0),
    );
    const quietUs = Math.max(0, ...ends) + SETTLE_US;
    await world.runUntil(quietUs);
    const recovered = await this.recovers();
    const spent = await this.spent();
    const quotas = await this.quotas();
    for (const { guard, spending, quotas, once } of this.apps) {
      void guard.close();
      void spending?.guard.close();
      void quotas?.close();
      void once.close();
    }
    await world.runUntil(world.nowUs + forgottenUs(plan));
    // The months until quotas expire are not simulated, because the processes would only announce their limiters.
    const endUs = host.nowUs() + (plan.quota ? MONTHS_US : 0);
    return {
      plan,
      processes: this.processes,
      calls: this.calls,
      executions: host.executions,
      restarts: host.restarts,
      outcomes: this.outcomes,
      runs: this.runs,
      starts: this.starts,
      units: this.units,
      spent,
      quotas,
      keysAtEnd: host.server.size(endUs),
      recovered,
    };
  }

  private boot(at: number): void {
    const { plan, world, host, subject } = this;
    const clock = plan.clocks[at];
    if (!clock) return;
    const process = new Process(`p${at}`, world, clock);
    this.processes.push(process);
    const isOther = (at + (this.deploys.get(at) ?? 0)) % 2 === 1;
    const text = (isOther && subject.other) || subject.program;
    const program = process.boot(text) as Program;
    const { core, createShaper, withDebt } = program;
    const link = host.connect(process);
    const store = this.recorded(program.open(link), process);
    const { onStoreError, permits, leaseMs } = plan;
    const changes = plan.acts.some(({ kind }) => kind === 'change');
    const control = changes ? program.openControl?.(link) : undefined;
    const settings = { store, onStoreError, logger: false, validate: false } as const;
    const live = control ? { ...settings, control } : settings;
    const inDebt = (debt: number, limit: number): RateAlgorithm => ({
      name: 'token-bucket',
      makeRule(...numbers) {
        const rule = core.tokenBucket.makeRule(...numbers);
        return withDebt?.(rule, debt, limit) ?? rule;
      },
    });
    const limits = plan.rates.map(
      ({ name, algorithm, limit, windowMs, burst, debt, locksMs, mode }) => ({
        name,
        limit,
        window: windowMs,
        algorithm: debt === undefined ? algorithmOf(core, algorithm) : inDebt(debt, limit),
        mode,
        // A build of an older release may have no penalties.
        ...(locksMs &&
          'lockFor' in core && { penalty: core.lockFor(locksMs, { forget: FORGET_MS }) }),
        ...(algorithm === 'tokenBucket' && burst !== undefined && { burst }),
      }),
    );
    const byName = Object.fromEntries(limits.map(({ name, ...options }) => [name, options]));
    const guard = core.createGuard<Caller>(
      [
        core.concurrencyLimit({
          name: 'permits',
          limit: permits,
          lease: leaseMs,
          key: ({ raw }) => raw.key,
        }),
        core.fleetShedder({
          name: 'fleet',
          capacity: permits * 2,
          reserve: 0.5,
          lease: leaseMs,
          priority: ({ raw }) => (raw.critical ? 'critical' : undefined),
        }),
      ],
      settings,
    );
    const spending =
      plan.spend && 'meter' in core ? this.spending(core, process, store) : undefined;
    const once = program.fetchGuard<Request, [Handling]>(
      [
        core.idempotency<Request>({
          scope: () => 'ada',
          lease: leaseMs,
          maxRun: '3s',
          keep: '10s',
        }),
        core.rateLimit<Request>({ name: 'posts', limit: 3, window: '1s', key: () => 'ada' }),
      ],
      { store, logger: false, validate: false, clientIp: () => '203.0.113.7' },
    );
    const { pace, jobsAtOnce } = plan;
    this.apps[at] = {
      process,
      store,
      link,
      limiters: core.createLimiters(byName, live),
      probe: core.createLimiter({ name: 'probe', limit: 1_000, window: '1s' }, settings),
      guard,
      spending,
      quotas: this.books?.guard(core, process, store),
      once,
      handler: once.wrap((_request: Request, handling: Handling) => this.handle(process, handling)),
      shaper: createShaper?.(
        {
          name: 'jobs',
          limit: pace.limit,
          window: pace.windowMs,
          burst: pace.burst,
          maxWait: '2s',
          ...(jobsAtOnce !== undefined && { maxConcurrent: jobsAtOnce, lease: leaseMs }),
        },
        { store, localShare: 0.25, logger: false },
      ),
      control,
      hasDistinct: 'distinct' in core,
      granted: [],
    };
  }

  /** Makes the guard of requests whose cost is known only when they end. Each request holds a permit until then. */
  private spending(core: Program['core'], process: Process, store: Store): App['spending'] {
    const { spend } = this.plan;
    if (!spend) return undefined;
    const meter = core.meter<number, Spender>({
      reserve: ({ raw }) => raw.reserve,
      ...(spend.isPartial && { onCut: core.partial<number>() }),
    });
    const key = ({ raw }: LimitRequest<Spender>) => raw.key;
    const cost = meter.cost((units) => units, { debt: spend.debt });
    const guard = core.createGuard<Spender>(
      [
        core.rateLimit({ name: 'spend', limit: spend.limit, window: SPEND_MS, key, cost }),
        core.concurrencyLimit({ name: 'streams', limit: 20, key }),
      ],
      {
        store,
        logger: false,
        validate: false,
        observers: [{ onUnits: ({ kind, units }) => this.units.push({ process, kind, units }) }],
      },
    );
    return { guard, meter };
  }

  private recorded(store: Store, process: Process): Store {
    const { world, host, calls } = this;
    const apply = store.apply.bind(store);
    return Object.assign(store, {
      apply: (...[steps, options]: Parameters<Store['apply']>): ReturnType<Store['apply']> => {
        const call: Call = {
          process,
          act: this.acting,
          steps,
          sentUs: world.nowUs,
          sentServerUs: host.nowUs(),
          executionsBefore: host.executions.length,
        };
        calls.push(call);
        const given = apply(steps, options);
        Promise.resolve(given).then(
          (answers) => {
            call.answers = answers;
            call.endUs = world.nowUs;
          },
          (error) => {
            call.error = error;
            call.endUs = world.nowUs;
          },
        );
        return given;
      },
    });
  }

  private begin(act: Act, at: number): void {
    const app = this.apps[act.process];
    if (!app || app.process.isDead) return;
    this.world.at(this.world.nowUs, () => this.act(app, act, at), app.process);
  }

  private act(app: App, act: Act, at: number): void {
    const { world, host } = this;
    const outcome: Outcome = {
      act: at,
      process: app.process,
      startUs: world.nowUs,
      startServerUs: host.nowUs(),
    };
    this.outcomes.push(outcome);
    this.acting = at;
    let done: Promise<void>;
    try {
      done = this.perform(app, act, outcome);
    } catch (error) {
      done = Promise.reject(error);
    } finally {
      this.acting = undefined;
    }
    done
      .catch((error: unknown) => {
        outcome.error = error;
      })
      .finally(() => {
        outcome.endUs ??= world.nowUs;
      });
  }

  private async perform(app: App, act: Act, outcome: Outcome): Promise<void> {
    const { limiters, granted } = app;
    switch (act.kind) {
      case 'consume':
      case 'peek': {
        const { keys, options } = this.asked(app, act);
        const asked = act.kind === 'consume' ? limiters.consume : limiters.peek;
        const decision = await asked.call(limiters, keys, options);
        outcome.decisions = Object.values(decision.decisions);
        outcome.allowed = decision.allowed;
        if (act.kind === 'consume' && decision.allowed) {
          granted.push(decision);
          this.settle(app, act, outcome.act);
        }
        this.again(app, act, outcome.act);
        return;
      }
      case 'refund': {
        const decision = granted.at(-act.of);
        if (!decision) return;
        for (let n = 0; n < (act.twice ? 2 : 1); n += 1) {
          if (await limiters.refund(decision))
            this.refunds.set(decision, this.refundsOf(decision) + 1);
        }
        outcome.refunds = this.refundsOf(decision);
        return;
      }
      case 'request':
        await this.request(app, act, outcome);
        return;
      case 'once':
        await this.post(app, act, outcome);
        return;
      case 'flood': {
        const name = this.plan.rates[act.rate]?.name as string;
        const keys = Array.from({ length: act.keys }, (_, at) => `${outcome.act}-${at}`);
        const options = this.isOnItems(app, act.rate) ? { item: { [name]: 'item' } } : {};
        await Promise.all(keys.map((key) => limiters.consume({ [name]: key }, options)));
        return;
      }
      case 'change': {
        const name = this.plan.rates[act.rate]?.name as string;
        const because = 'to see whether it applies';
        const note = { by: 'ada', because, for: act.forMs ?? ('forever' as const) };
        await app.control?.set(name, { limits: { limit: act.limit } }, note);
        return;
      }
      case 'quota':
        await this.use(app, act, outcome);
        return;
      case 'spend':
        await this.spend(app, act, outcome);
        return;
      case 'job':
        await this.job(app, act, outcome);
        return;
      case 'pause':
        await app.shaper?.pause(act.key, act.forMs);
    }
  }

  private async job(
    app: App,
    { key, abortUs, holdUs }: Extract<Act, { kind: 'job' }>,
    outcome: Outcome,
  ): Promise<void> {
    const { process } = app;
    const { world, host } = this;
    const controller = new AbortController();
    if (abortUs !== undefined) {
      const abort = (): void => {
        outcome.abortedUs = world.nowUs;
        controller.abort();
      };
      world.at(world.nowUs + abortUs, abort, process);
    }
    const work = async (): Promise<void> => {
      const [atUs, serverUs] = [world.nowUs, host.nowUs()];
      const start: Start = { process, act: outcome.act, key, atUs, serverUs };
      this.starts.push(start);
      if (this.plan.jobsAtOnce !== undefined) await this.pass(process, holdUs);
      start.endUs = world.nowUs;
    };
    await app.shaper?.schedule(key, work, { signal: controller.signal });
  }

  private isOnItems(app: App, rate: number): boolean {
    return app.hasDistinct && this.plan.rates[rate]?.algorithm === 'distinct';
  }

  private asked(app: App, { asks, key, cost, items }: Extract<Act, { asks: unknown }>) {
    const of = <Value>(rates: readonly number[], value: Value): Record<string, Value> =>
      Object.fromEntries(rates.map((rate) => [this.plan.rates[rate]?.name as string, value]));
    const onItems = asks.filter((rate) => this.isOnItems(app, rate));
    const others = asks.filter((rate) => !this.isOnItems(app, rate));
    const item = onItems.length > 0 && { item: of(onItems, items) };
    return { keys: of(asks, key), options: { cost: of(others, cost), ...item } };
  }

  /**
   * Makes a second charge 20 ms after a request, on its limits that can have debt. This simulates a cost that is known
   * only after the work.
   */
  private settle(app: App, { asks, key, cost }: Extract<Act, { asks: unknown }>, at: number): void {
    const owing = asks.flatMap((one) => {
      const rate = this.plan.rates[one];
      return rate?.debt === undefined ? [] : [[rate.name, key] as const];
    });
    if (owing.length === 0 || at % 4 === 0) return;
    const { world } = this;
    const charge = async (): Promise<void> => {
      await app.limiters.record(Object.fromEntries(owing), { cost: lateCost(cost, at) });
    };
    world.at(world.nowUs + 20_000, () => void charge().catch(() => undefined), app.process);
  }

  private refundsOf(decision: object): number {
    return this.refunds.get(decision) ?? 0;
  }

  /**
   * Repeats a rejected call at the instant at which the store promised to admit it, or one microsecond earlier. Waits
   * below 1 ms or above 3 s are left out.
   */
  private again(app: App, asks: Extract<Act, { asks: unknown }>, act: number): void {
    const { world, host } = this;
    const { again: by } = asks;
    if (by === undefined) return;
    const call = this.calls.findLast((one) => one.act === act);
    const waits = call?.steps.map((step, at) => waitUs(step, call.answers?.[at])) ?? [];
    const longest = Math.max(0, ...waits);
    if (!(longest > 1_000 && longest < 3_000_000)) return;
    const wishUs = host.trueUs((call?.answers?.[0]?.nowUs ?? 0) + longest) + by;
    const { keys, options } = this.asked(app, asks);
    const come = (): void => {
      app.link.wishUs = wishUs;
      void Promise.resolve(app.limiters.consume(keys, options)).catch(() => undefined);
    };
    world.at(wishUs - 40, come, app.process);
  }

  private async request(
    app: App,
    act: Extract<Act, { kind: 'request' }>,
    outcome: Outcome,
  ): Promise<void> {
    const admission = await app.guard.admit(requestOf({ key: act.key, critical: act.critical }));
    outcome.decisions = admission.decisions;
    outcome.allowed = admission.allowed;
    outcome.endUs = this.world.nowUs;
    if (admission.allowed) await this.pass(app.process, act.holdUs);
    for (let n = 0; n < act.releases; n += 1) void admission.release({ status: 200 });
  }

  private async use(
    { process, quotas }: App,
    { key, cost }: QuotaCaller,
    outcome?: Outcome,
  ): Promise<void> {
    const { world, host, books, calls } = this;
    if (!quotas || !books) return;
    const { allowed, decisions } = await quotas.admit(requestOf({ key, cost }));
    if (outcome) Object.assign(outcome, { allowed, decisions });
    if (!allowed) return;
    const isLocal = decisions[0]?.outcome === 'error';
    const own = calls.findLast(
      ({ process: by, steps: [step], answers }) =>
        by === process && answers && step?.limiter === 'quota' && step.key === key,
    )?.answers?.[0];
    const startUs =
      own && 'startUs' in own && !isLocal ? startOf(own) : books.startAt(host.nowUs());
    books.records.push({ key, units: cost, startUs, trueUs: world.nowUs, isLocal });
  }

  private async spend(
    app: App,
    act: Extract<Act, { kind: 'spend' }>,
    outcome: Outcome,
  ): Promise<void> {
    const { key, reserve, adds, gapUs, usage, isCut, lateUs } = act;
    if (!app.spending) return;
    const { guard, meter } = app.spending;
    const admission = await guard.admit(requestOf({ key, reserve }));
    outcome.decisions = admission.decisions;
    outcome.allowed = admission.allowed;
    outcome.endUs = this.world.nowUs;
    if (!admission.allowed) return;
    const spent = meter.of(admission);
    outcome.added = 0;
    for (const units of adds) {
      await this.pass(app.process, gapUs);
      spent.add(units);
      outcome.added += units;
    }
    const settle = (): void => {
      // Settles twice, although only the first settlement may count.
      if (usage !== undefined) for (const units of [usage, usage + 9]) spent.settle(units);
    };
    if (lateUs === undefined) settle();
    outcome.hasEnded = true;
    void admission.release(isCut ? { aborted: true } : { status: 200 });
    if (lateUs === undefined) return;
    await this.pass(app.process, lateUs);
    settle();
  }

  private async post(
    app: App,
    act: Extract<Act, { kind: 'once' }>,
    outcome: Outcome,
  ): Promise<void> {
    const request = new Request('http://api.example/orders', {
      method: 'POST',
      headers: { 'idempotency-key': act.id, 'content-type': 'application/json' },
      body: JSON.stringify({ order: act.id }),
    });
    const { id, holdUs, status } = act;
    const response = await app.handler(request, { act: outcome.act, id, holdUs, status });
    outcome.response = { status: response.status, body: await response.text() };
  }

  private async handle(process: Process, handling: Handling): Promise<Response> {
    const { id, act, holdUs, status } = handling;
    const run: Run = { id, act, process, startUs: this.world.nowUs };
    this.runs.push(run);
    await this.pass(process, holdUs);
    run.endUs = this.world.nowUs;
    run.status = status;
    return new Response(`done by ${act}`, { status });
  }

  private pass(process: Process, us: number): Promise<void> {
    const { world } = this;
    return new Promise((resolve) => {
      world.at(world.nowUs + us, resolve, process);
    });
  }

  private fail(fault: Fault): void {
    const { world, host } = this;
    const later = (us: number, end: () => void): void => void world.at(world.nowUs + us, end);
    switch (fault.kind) {
      case 'weather':
        host.weather = { ...host.weather, [fault.of]: fault.share };
        later(fault.forUs, () => host.calm());
        return;
      case 'restart':
        host.restart(fault.keeps);
        return;
      case 'down':
        host.stop();
        later(fault.forUs, () => {
          host.isDown = false;
        });
        return;
      case 'hang':
        host.hungUntilUs = world.nowUs + fault.forUs;
        return;
      case 'clock':
        host.setClock(fault.byUs);
        return;
      case 'freeze': {
        const process = this.apps[fault.process]?.process;
        if (process) process.frozenUntilUs = world.nowUs + fault.forUs;
        return;
      }
      case 'kill': {
        const process = this.apps[fault.process]?.process;
        if (!process) return;
        process.isDead = true;
        later(RESTART_US, () => this.boot(fault.process));
        return;
      }
      case 'deploy':
        this.deploy(fault.process);
    }
  }

  /** Deploys as orchestrators do: a process gets no more requests, waits some time for those in flight, and closes. */
  private deploy(at: number): void {
    const { world, apps, deploys } = this;
    const app = apps[at];
    if (!app || app.process.isDead) return;
    const { process, guard, spending, quotas, once } = app;
    delete apps[at];
    deploys.set(at, (deploys.get(at) ?? 0) + 1);
    const close = (): void => {
      void guard.close();
      void spending?.guard.close();
      void quotas?.close();
      void once.close();
    };
    // In half of the histories, processes hardly wait for their requests.
    const drainUs = this.plan.seed % 2 === 0 ? DRAIN_US : DRAIN_US / 8;
    world.at(world.nowUs + drainUs, close, process);
    world.at(world.nowUs + drainUs + CLOSE_US, () => {
      process.isDead = true;
    });
    world.at(world.nowUs + RESTART_US, () => this.boot(at));
  }

  private async recovers(): Promise<boolean> {
    const { world, apps } = this;
    const living = apps.filter(({ process }) => !process.isDead);
    let answered = 0;
    for (const { process, probe } of living) {
      world.at(
        world.nowUs,
        () => {
          Promise.resolve(probe.consume('probe')).then(
            ({ outcome }) => {
              if (outcome === 'allowed') answered += 1;
            },
            () => undefined,
          );
        },
        process,
      );
    }
    await world.runUntil(world.nowUs + 1_000_000);
    return answered === living.length;
  }

  /**
   * Uses each key twice more, then returns the counts of quotas. It first waits more than a minute, because until then
   * processes don't repeat a failed report or load.
   */
  private async quotas(): Promise<History['quotas']> {
    const { world, apps, plan, books, calls } = this;
    const app = apps.find(({ process, quotas }) => quotas && !process.isDead);
    if (!books || !app) return undefined;
    books.loadsSucceed = true;
    const keys = new Set(plan.acts.flatMap((act) => (act.kind === 'quota' ? [act.key] : [])));
    for (const waitUs of [61_000_000, 12_000_000]) {
      await world.runUntil(world.nowUs + waitUs);
      for (const key of keys) {
        const use = (): void => void this.use(app, { key, cost: 1 }).catch(() => undefined);
        world.at(world.nowUs, use, app.process);
        await world.runUntil(world.nowUs + 2_500_000);
      }
    }
    const counts = new Map<string, { startUs: number; endUs: number; used: number }>();
    for (const key of keys) {
      const last = calls.findLast(
        ({ steps: [step] }) => step?.limiter === 'quota' && step.key === key,
      );
      const [answer] = last?.answers ?? [];
      if (!answer || !('startUs' in answer && 'endUs' in answer)) return undefined;
      const { endUs, current: used } = answer;
      counts.set(key, { startUs: startOf(answer), endUs, used });
    }
    const { records, told, loads } = books;
    return { records, told, loads, counts };
  }

  /** Makes each live process send its pending charges, then returns the units charged. */
  private async spent(): Promise<History['spent']> {
    const { world, apps, plan } = this;
    if (!plan.spend) return undefined;
    for (const { process, spending } of apps) {
      const request = requestOf({ key: 'last', reserve: 0 });
      const admit = async (): Promise<void> => {
        const admission = await spending?.guard.admit(request);
        void admission?.release({ status: 200 });
      };
      world.at(world.nowUs, () => void admit().catch(() => undefined), process);
    }
    await world.runUntil(world.nowUs + 3_000_000);
    const [app] = apps.filter(({ process, spending }) => spending && !process.isDead);
    const keys = new Set(plan.acts.flatMap((act) => (act.kind === 'spend' ? [act.key] : [])));
    const steps = this.calls.flatMap(({ steps }) => steps);
    const spent = new Map<string, number>();
    for (const key of keys) {
      const step = steps.find((one) => one.limiter === 'spend' && one.key === key);
      if (!app || !step) return undefined;
      const look: Step = { ...step, op: 'look', cost: 0, owed: 0, answered: undefined };
      const ask = (): void => void Promise.resolve(app.store.apply([look])).catch(() => undefined);
      world.at(world.nowUs, ask, app.process);
      await world.runUntil(world.nowUs + 100_000);
      const [answer] = this.calls.findLast((call) => call.steps[0] === look)?.answers ?? [];
      if (!answer) return undefined;
      spent.set(key, seen(step.rule, answer, 0).used);
    }
    return spent;
  }
}

function algorithmOf(core: Program['core'], name: Plan['rates'][number]['algorithm']) {
  const { distinct, slidingLog } = core;
  if (name !== 'distinct') return core[name];
  return distinct ? distinct() : slidingLog;
}

function requestOf<Raw>(raw: Raw): LimitRequest<Raw> {
  return {
    method: 'GET',
    path: '/',
    clientIp: '203.0.113.7',
    header: () => undefined,
    raw,
  };
}
