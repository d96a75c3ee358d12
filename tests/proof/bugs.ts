/** Bugs that are planted into the real code, each by replacing texts of its sources. A law must catch each. */

import type { Focus } from '@spillway/conformance/simulator';
import type { Mutation } from './subject.js';

export interface Bug {
  /** What the code does with the bug. */
  readonly name: string;
  /** Where others had it: mostly a repository with the number of its issue or pull request. */
  readonly seenIn?: string | undefined;
  readonly mutations: readonly Mutation[];
  /** What the histories must be about, if others show it rarely. */
  readonly focus?: Focus | undefined;
}

type Replacement = readonly [from: string, to: string];

/** @param seenIn undefined for a bug that we made up */
function bug(name: string, file: string, [from, to]: Replacement, seenIn?: string): Bug {
  return { name, seenIn, mutations: [{ file, from, to }] };
}

const LUA = 'redis/src/algorithms';
const TAKES = `${LUA}/bucket/takes.lua`;
const BUCKET = `${LUA}/bucket/bucket.lua`;
const WINDOW = `${LUA}/window/window.lua`;
const LOG = `${LUA}/log/log.lua`;
const LEASES = `${LUA}/leases/leases.lua`;
const CLAIMS = `${LUA}/claims/claims.lua`;
const QUEUE = `${LUA}/queue/takes.lua`;
const DISTINCT = `${LUA}/distinct/distinct.lua`;
const LOCK = `${LUA}/lock/lock.lua`;
const MAIN = 'redis/src/lua/main.lua';
const STORES = 'core/src/stores';
const UPKEEP = 'core/src/algorithms/upkeep';
const ONCE = 'core/src/once';

const buckets: readonly Bug[] = [
  bug(
    'a bucket charges what it rejects',
    TAKES,
    ['if passes then', 'if true then'],
    'VilnaCRM/user-service#476',
  ),
  bug(
    'a bucket holds a unit more than its burst',
    TAKES,
    ['local latest = now + tol', 'local latest = now + tol + inc'],
    'squidowl/halloy#2106',
  ),
  bug('a bucket admits a microsecond early', TAKES, [
    'next_us < latest or (next_us == latest and next_num <= tol_num)',
    'next_us <= latest + 1',
  ]),
  {
    name: 'the clocks of the processes decide',
    seenIn: 'spring-cloud/spring-cloud-gateway#1688',
    mutations: [
      {
        file: 'redis/src/codec/script.ts',
        from: 'local now = time[1] * 1000000 + time[2]',
        to: 'local now = time and tonumber(table.remove(ARGV))',
      },
      {
        file: 'redis/src/calls/group-calls.ts',
        from: 'if (testClock) args.push(',
        to: 'args.push(String(systemClock.nowUs()));\n      if (testClock) args.push(',
      },
    ],
  },
  bug('a bucket drops fractions of a microsecond', TAKES, [
    'local next_us, next_num = us + inc, num + inc_num',
    'local next_us, next_num = us + inc, num',
  ]),
  bug(
    'a bucket is forgotten after half of its time',
    TAKES,
    ['(us - now) / tick + spare)).err', '(us - now) / tick / 2 + spare)).err'],
    "Stripe's published sketch",
  ),
  bug(
    'a bucket has no expiry',
    TAKES,
    [
      "try('SET', key, value, 'PX', format('%d', (us - now) / tick + spare))",
      "try('SET', key, value)",
    ],
    'Tabcorp/redis-rate-limiter#1',
  ),
  bug(
    'time is read in whole seconds',
    'redis/src/codec/script.ts',
    ['local now = time[1] * 1000000 + time[2]', 'local now = time[1] * 1000000'],
    'symfony/symfony#47676',
  ),
  bug(
    'a bucket beside others is charged when another rejects',
    BUCKET,
    [
      '((go and op <= SHADOW) or op == RECORD or op == PUT)',
      '(op <= SHADOW or op == RECORD or op == PUT)',
    ],
    'langfuse/langfuse#14280',
  ),
  bug('a refund gives back what has refilled since', BUCKET, [
    'if left < give or (left == give and step.at_num < give_num) then',
    'if false then',
  ]),
  bug('a refund empties the count', BUCKET, [
    'us, num = us - give, num - give_num',
    'us, num = now - 1, 0',
  ]),
  bug('a bucket beside others never refills', BUCKET, [
    '    if us < now then\n      us, num = now, 0\n    end\n    if owes',
    '    if us < 0 then\n      us, num = now, 0\n    end\n    if owes',
  ]),
  bug('a bucket in debt forgets what is beyond its limit', BUCKET, [
    'most, most_num = now + step.deepest, step.deepest_num',
    'most, most_num = now + step.tol, step.tol_num',
  ]),
  bug('a settlement goes on beyond the debt', BUCKET, [
    '      next, next_num = most, most_num\n',
    '',
  ]),
  bug('a bucket admits until its debt is used up', 'redis/src/algorithms/bucket/bucket-codec.ts', [
    'rule.tolUs}',
    '(rule.deepest ?? rule).tolUs}',
  ]),
  bug(
    'a bucket holds what its rate says, not its burst',
    'core/src/algorithms/bucket.ts',
    ['mulDiv(burst, period, den)', 'mulDiv(limit, period, den)'],
    'kent8192/reinhardt-web#2229',
  ),
];

const locks: readonly Bug[] = [
  bug(
    'each attempt extends a lock',
    LOCK,
    [
      'elseif op == TAKE and not passes and locked == 0 and cost <= limit then',
      'elseif op == TAKE and not passes and cost <= limit then',
    ],
    'VilnaCRM/user-service#476',
  ),
  bug(
    'each lock is as long as the first',
    LOCK,
    ['locks[min(level + 1, #locks)]', 'locks[1]'],
    'dsh-auth-gate#81',
  ),
  bug('a refund ends no lock', LOCK, [
    'if locked > 0 then\n        level, locked = level - 1, 0\n      end',
    '',
  ]),
  {
    ...bug('a refund keeps the level of the lock that it ends', LOCK, [
      'level, locked = level - 1, 0',
      'locked = 0',
    ]),
    focus: { focus: 'penalties', faults: [] },
  },
  bug('a late refund ends any lock', LOCK, [
    'return step.at == step.ends and step.current > 0',
    'return step.current > 0',
  ]),
  bug('the units that led to a lock count after it', LOCK, [
    'ended, locked, current = locked, 0, 0',
    'ended, locked = locked, 0',
  ]),
  {
    ...bug('a limit in shadow mode locks', LOCK, [
      'elseif op == TAKE and not passes',
      'elseif op <= SHADOW and not passes',
    ]),
    focus: { focus: 'rates', faults: [] },
  },
  bug('a lock is forgotten at its end', LOCK, ['now >= ended + step.forget', 'now >= ended']),
  bug('a cost that never passes locks', LOCK, [
    'locked == 0 and cost <= limit then',
    'locked == 0 then',
  ]),
  bug('a locked key has no expiry', LOCK, [", 'PX', lifetime(expires - now))", ')']),
];

const windows: readonly Bug[] = [
  bug('a window counts all windows before it', WINDOW, [
    'previous = fresh_start == start + window and current or 0',
    'previous = current',
  ]),
  bug('a sliding window forgets the window before', WINDOW, [
    'return previous <= room or product_at_most(',
    'return true or product_at_most(',
  ]),
  bug(
    'a window counts one unit for any cost',
    WINDOW,
    [
      'local room = step.limit - current - cost',
      'local room = step.limit - current - min(cost, 1)',
    ],
    'civitai#3988',
  ),
  bug('a sliding window is kept for one window only', WINDOW, [
    '(step.sliding and 2 * window or window)',
    'window',
  ]),
  bug('a window begins anew only after two', WINDOW, [
    'local over = fresh_start > start',
    'local over = fresh_start > start + window',
  ]),
  bug(
    'a window has no expiry',
    WINDOW,
    ["call('SET', key, text, 'PX', lifetime(ends - now))", "call('SET', key, text)"],
    'alisaifee/limits#14',
  ),
  {
    ...bug('a refund goes to the window of now', WINDOW, [
      'return step.at == step.start and current > 0',
      'return current > 0',
    ]),
    focus: { focus: 'rates', faults: [] },
  },
  bug('a refund clears the window', WINDOW, [
    'current, write = max(0, current - step.cost), true',
    'current, write = 0, true',
  ]),
  bug('a log looks at what it has, not at the cost', LOG, [
    'return step.used + step.cost <= step.limit',
    'return step.used < step.limit',
  ]),
  bug('a log forgets an entry a microsecond early', LOG, [
    'local since = now - step.window\n    if step.last',
    'local since = now - step.window + 1\n    if step.last',
  ]),
  bug(
    'a log has no expiry',
    LOG,
    ["call('PEXPIRE', key, lifetime(step.last + step.window - now))", ''],
    'marcosbarbero/spring-cloud-zuul-ratelimit#162',
  ),
  bug('a log expires with its first entry', LOG, [
    'lifetime(step.last + step.window - now)',
    'lifetime(step.window / 2)',
  ]),
];

const groups: readonly Bug[] = [
  bug('a limit in shadow rejects the group', MAIN, [
    'if step.op == TAKE and not step.passes then',
    'if step.op <= 2 and not step.passes then',
  ]),
  bug('nothing rejects a group', MAIN, ['go = false', 'go = true']),
  bug('a limit in shadow rejects', 'core/src/direct/direct-client.ts', [
    "const binding = mode === 'enforce';",
    'const binding = true;',
  ]),
  bug(
    'every limit is in shadow',
    'core/src/direct/direct-client.ts',
    ["const binding = mode === 'enforce';", 'const binding = false;'],
    'LemmyNet/lemmy#4560',
  ),
  bug('answers of one call are given in reverse', 'redis/src/calls/group-calls.ts', [
    'const result = results[i] as Result;',
    'const result = results[groups.length - 1 - i] as Result;',
  ]),
  bug(
    'all keys share one count',
    'redis/src/codec/keys.ts',
    ['encodeName(limiter, key, code, options)', "encodeName(limiter, 'x', code, options)"],
    'mcp-uptime-kuma#89',
  ),
  bug('limits of equal numbers share counts', 'redis/src/codec/keys.ts', [
    'encodeName(limiter, key, code, options)',
    "encodeName('x', key, code, options)",
  ]),
  bug(
    'a decision is refunded as often as asked',
    'core/src/direct/granted-decision.ts',
    ['    decision.#step = undefined;\n', ''],
    'elizaOS/eliza#11169',
  ),
  bug('a refund gives back twice the cost', 'core/src/algorithms/receipt.ts', [
    'const units = Math.min(cost, receipt.units ?? cost);',
    'const units = 2 * Math.min(cost, receipt.units ?? cost);',
  ]),
];

const permits: readonly Bug[] = [
  bug(
    'a release frees the newest permit, not its own',
    LEASES,
    [
      "call('ZREM', key, step.id)",
      "local ids = call('ZRANGEBYSCORE', key, '-inf', '+inf')\n        call('ZREM', key, ids[#ids])",
    ],
    'remnic#2015',
  ),
  bug(
    'a release needs no permit and frees the oldest',
    LEASES,
    [
      "call('ZREM', key, step.id)",
      "call('ZREM', key, call('ZRANGEBYSCORE', key, '-inf', '+inf')[1])",
    ],
    'dashpay/rust-dashcore#916',
  ),
  {
    ...bug(
      'a lease never ends',
      LEASES,
      ["local after = '(' .. format('%d', now)", "local after = '(0'"],
      'gocraft/work#231',
    ),
    focus: { focus: 'permits' },
  },
  {
    ...bug(
      'the leases of a key have no expiry',
      LEASES,
      ["call('PEXPIRE', key, format('%d', 2 * ms))", ''],
      'bluetape4k/bluetape4k-projects#944',
    ),
    focus: { focus: 'permits' },
  },
  bug(
    'one permit too many is given',
    LEASES,
    ['(step.ordinary < step.open and step.held < step.limit)', '(step.ordinary <= step.open)'],
    'swarthy/redis-semaphore#155',
  ),
  bug('nothing is reserved for critical requests', LEASES, [
    '(step.ordinary < step.open and step.held < step.limit)',
    '(step.held < step.limit)',
  ]),
  bug('critical requests are shed', LEASES, ['return step.critical or (', 'return (']),
  bug(
    'a renewal renews nothing',
    LEASES,
    ['(op == RECORD or (op <= SHADOW and go))', '(op <= SHADOW and go)'],
    'solana-developer-platform#1060',
  ),
  bug(
    'a permit is taken though the group is rejected',
    LEASES,
    ['(op == RECORD or (op <= SHADOW and go))', '(op == RECORD or op <= SHADOW)'],
    'gadget-inc/silo#269',
  ),
  {
    name: 'each renewal that fails releases its permit anew, whatever is under way',
    focus: { focus: 'permits', faults: ['down', 'hang', 'loseReply'] },
    mutations: [
      {
        file: `${UPKEEP}/lease-cycle.ts`,
        from: 'const last = this.endSteps.get(step);',
        to: 'const last = step.claim ? this.endSteps.get(step) : releaseOf(step);',
      },
      { file: `${UPKEEP}/lost-releases.ts`, from: 'this.underWay.add(release);', to: '' },
    ],
  },
  bug('no lease is renewed', `${UPKEEP}/lease-cycle.ts`, [
    'for (const step of due) {',
    'for (const step of due.slice(0, 0)) {',
  ]),
  bug('no release reaches the store', 'core/src/engine/releases.ts', [
    'if (steps.length === 0) return undefined;\n    const held',
    'if (steps.length >= 0) return undefined;\n    const held',
  ]),
  bug('all permits have one id', 'core/src/limits/lease-limiter.ts', [
    'crypto.getRandomValues(new Uint32Array(3))',
    'new Uint32Array(3)',
  ]),
  bug('a critical permit counts as none', LEASES, [
    "critical = call('ZCOUNT', key, '-' .. horizon, before_now)",
    'critical = 0',
  ]),
];

const claims: readonly Bug[] = [
  bug(
    'a claim that runs is free',
    CLAIMS,
    [
      'return step.state == FREE or (own and (step.state == RUNNING or op == DONE))',
      'return step.state ~= KEPT or own',
    ],
    'jcagarcia/grape-idempotency#10',
  ),
  bug(
    'all claims have one owner',
    `${ONCE}/claim-note.ts`,
    ['crypto.getRandomValues(new Uint8Array(12))', 'new Uint8Array(12)'],
    'paveg/hono-idempotency#91',
  ),
  {
    ...bug('who lost a claim marks it as done', CLAIMS, [
      'return step.state == FREE or (own and (step.state == RUNNING or op == DONE))',
      'return step.state == FREE or op == DONE or (own and step.state == RUNNING)',
    ]),
    focus: { focus: 'claims', faults: ['freeze'] },
  },
  bug('what is done is kept for a lease', CLAIMS, [
    'KEPT, now + step.keep,',
    'KEPT, now + step.lease,',
  ]),
  bug('a claim runs as long as it is kept', CLAIMS, [
    'RUNNING, now + step.lease,',
    'RUNNING, now + step.keep,',
  ]),
  bug('a claim is taken though the group is rejected', CLAIMS, [
    'elseif passes and (op == RECORD or (op <= SHADOW and go)) then',
    'elseif passes and (op == RECORD or op <= SHADOW) then',
  ]),
  bug('a claim has no expiry', CLAIMS, [", 'PX', lifetime(step.ends - now))", ')']),
  bug('answers are not kept', `${ONCE}/late-responses.ts`, [
    'context.values.set(name, bytes, ttlUs, { deadlineUs, background: true })',
    'undefined',
  ]),
  {
    name: 'answers are kept by the caller, not by the key',
    seenIn: 'square1-io/laravel-idempotency#5',
    mutations: [
      {
        file: `${ONCE}/run.ts`,
        from: "const name = { limiter, key, id: claim?.owner ?? '' };",
        to: "void claim; const name = { limiter, key, id: '' };",
      },
      {
        file: `${ONCE}/replay.ts`,
        from: 'const name = { limiter, key, id: answer.owner };',
        to: "const name = { limiter, key, id: '' };",
      },
    ],
  },
  {
    ...bug(
      'a request runs without a claim when the store fails',
      `${ONCE}/idempotency-options.ts`,
      ["['deny', 'allow']) ?? 'deny'", "['deny', 'allow']) ?? 'allow'"],
      'square1-io/laravel-idempotency#1',
    ),
    focus: { focus: 'claims', faults: ['down'] },
  },
];

const KEY_PAUSE = 'outgoing/src/shaper/key-pause.ts';

const jobs: readonly Bug[] = [
  bug('the store keeps no pause', `${LUA}/queue/queue.lua`, [
    'step.pause = max(step.pause, now + min(step.hold, MAX_HOLD))',
    'step.pause = max(step.pause, now)',
  ]),
  {
    ...bug('a process forgets its own pause when the store does not answer', KEY_PAUSE, [
      'this.ownUs = Math.max(this.ownUs, untilUs);',
      '',
    ]),
    focus: { focus: 'jobs', faults: ['down', 'hang', 'loseReply'] },
  },
  {
    ...bug('a pause of another process is not looked for before a start', KEY_PAUSE, [
      'return startUs <= this.checkedUs || this.slots.checkTime.checkUs(startUs) <= this.askedUs;',
      'return startUs === startUs;',
    ]),
    focus: { focus: 'jobs', faults: [] },
  },
  bug('slots that lie in a pause are used', KEY_PAUSE, [
    'return at.localUs < ownUs || (pausedUntil !== undefined && at.isBefore(pausedUntil));',
    'return at.localUs < ownUs && pausedUntil === undefined;',
  ]),
  bug('jobs take no slot', QUEUE, [
    'local next_us, next_num = us + inc, num + inc_num',
    'local next_us, next_num = us, num',
  ]),
  bug('a job starts by the clock of its process', 'outgoing/src/shaper/slots.ts', [
    'return this.time ? this.us - this.time.offsetUs : this.us;',
    'return this.us;',
  ]),
  bug('a slot is half a period too early', 'outgoing/src/shaper/slots.ts', [
    'new Instant(nowUs + Math.round(waitMs * 1_000), time)',
    'new Instant(nowUs + Math.round(waitMs * 500), time)',
  ]),
];

const resilience: readonly Bug[] = [
  bug('a rejection is cached for longer than it lasts', `${STORES}/denial-cache.ts`, [
    'askedUs + Math.min(Math.round(holdsMs * 1000), this.longestUs)',
    'askedUs + Math.min(Math.round(holdsMs * 1000) + 300_000, this.longestUs)',
  ]),
  bug('a cached rejection rejects cheaper requests', `${STORES}/denial-cache.ts`, [
    'denials.isOfOneCost ? step.cost !== cost : step.cost < cost',
    'step.cost < 0',
  ]),
  bug('a refund leaves the cached rejection', `${STORES}/denial-cache.ts`, [
    '  forgetDenials(step: Step): void {',
    '  forgetDenials(step: Step): void {\n    if (step) return;',
  ]),
  bug('a cached rejection rejects all keys', `${STORES}/denial-cache.ts`, [
    'if (key.length <= LONGEST_KEY) return key;',
    "if (key) return '';",
  ]),
  bug(
    'no call has a deadline',
    `${STORES}/calls.ts`,
    ['background ? Infinity : nowUs + timeoutOf(steps.length, timeoutUs)', 'Infinity'],
    'express-rate-limit/rate-limit-redis#71',
  ),
  {
    ...bug('the breaker never opens', `${STORES}/circuit-breaker.ts`, [
      'const isDown = part.failures >= most;',
      'const isDown = part.failures < 0;',
    ]),
    focus: { focus: 'outages' },
  },
  bug(
    'the breaker never closes',
    `${STORES}/probe.ts`,
    ['this.doneUs - this.wellUs >= healthyUs()', 'this.doneUs < 0'],
    'yammer/circuitbox#74',
  ),
  bug(
    'the script is sent once, and never again',
    'redis/src/calls/transport.ts',
    [
      'reply = await this.loadScript(call, node);',
      'if (this.loads.has(call.script.sha)) throw error;\n      this.loads.set(call.script.sha, Promise.resolve());\n      reply = await this.loadScript(call, node);',
    ],
    'express-rate-limit/rate-limit-redis#144',
  ),
  bug(
    'a server that lost the script is not told it',
    'redis/src/calls/transport.ts',
    [
      'if (!isUnknownScript(error)) throw error;\n      reply',
      'if (error) throw error;\n      reply',
    ],
    'upstash/ratelimit-js#122',
  ),
  {
    ...bug('calls wait for a text of the script that was lost', 'redis/src/calls/transport.ts', [
      'inTime(reply, systemClock.nowUs() + LOAD_US)',
      'reply',
    ]),
    focus: { focus: 'rates', faults: ['restart', 'loseRequest'] },
  },
  {
    ...bug('the fallback counts nothing', `${STORES}/fallback.ts`, [
      'const MAX_ENTRIES = 100_000;',
      'const MAX_ENTRIES = 1;',
    ]),
    focus: { focus: 'outages' },
  },
  {
    ...bug('the fallback does not know what was admitted before', `${STORES}/fallback.ts`, [
      'if (!steps.some(isCountedHere)) return answers;',
      'if (steps) return answers;',
    ]),
    focus: { focus: 'outages' },
  },
  bug('deadlines are sent by the clock of the process', 'redis/src/calls/server-time.ts', [
    'const instant = deadlineUs + Math.max(this.latest, this.before);',
    'const instant = deadlineUs;',
  ]),
  {
    ...bug(
      'a timer stays for each call',
      `${STORES}/calls.ts`,
      ['this.cancel();\n        this.rejects.length = 0;', 'this.rejects.length = 0;'],
      'nestjs/throttler#2629',
    ),
    focus: { focus: 'permits', faults: [] },
  },
];

const settings: readonly Bug[] = [
  bug('live changes are not followed', 'redis/src/control/settings-poller.ts', [
    'if (revision === known) return;',
    'if (revision) return;',
  ]),
];

const items: readonly Bug[] = [
  bug('a repeat keeps an item for longer', DISTINCT, [
    'time_of(time_at(text, at), true)',
    'time_of(now, true)',
  ]),
  bug('a rejected request adds its items', DISTINCT, [
    'op == RECORD or (op <= SHADOW and passes and go)',
    'op <= SHADOW',
  ]),
  bug('an item counts a microsecond too long', DISTINCT, [
    'time_at(text, at) <= now - step.window',
    'time_at(text, at) < now - step.window',
  ]),
  bug('a refund removes an item that others have repeated', DISTINCT, [
    'if not shared and (step.op ~= PUT or',
    'if (step.op ~= PUT or',
  ]),
  bug('a refund removes an item that another request has added', DISTINCT, [
    '(us == step.at and #places < step.give)',
    '#places < step.give',
  ]),
  bug('several new items are one', DISTINCT, [
    'step.used + step.fresh <= step.limit',
    'step.used < step.limit',
  ]),
  bug('the items of a key end with the oldest', DISTINCT, [
    'lifetime(step.last + window - now)',
    'lifetime(time_at(step.text, 1) + window - now)',
  ]),
  bug('an item is told to expire when the newest does', DISTINCT, [
    'return (time_at(step.text, at))',
    'return step.last',
  ]),
];

const CHARGE = 'core/src/meter/charge.ts';
const SPENDING = 'core/src/meter/spending.ts';

const meters: readonly Bug[] = [
  {
    ...bug(
      'a settlement that failed is taken for sent',
      CHARGE,
      ['this.retry(step, failure, isLastTry, untilUs);\n      return;', 'return;'],
      'mozilla-ai/otari#767',
    ),
    focus: { focus: 'spending' },
  },
  {
    ...bug(
      'a reservation is given back before the real cost is charged',
      CHARGE,
      [
        "if (more > 0) return [this.first({ ...this.step, op: 'record', cost: more, owed: 0 })];",
        `if (more > 0) {
        const charge = (cost: number) => this.first({ ...this.step, op: 'record', cost, owed: 0 });
        const [put] = this.givingBack(units - more);
        if (!put) return [charge(more)];
        const sent = Promise.resolve(settling.releases.giveBack([put]));
        void sent.then(() => settling.releases.giveBack([charge(units)]));
        return [];
      }`,
      ],
      'langwatch/langwatch#8230',
    ),
    focus: { focus: 'spending' },
  },
  {
    ...bug(
      'a late settlement gives back again what the end gave back',
      CHARGE,
      ['this.sentUnits = units;\n', 'if (more > 0) this.sentUnits = units;\n'],
      'elizaOS/eliza#11169',
    ),
    focus: { focus: 'spending' },
  },
  {
    ...bug('units are given back again if it is unknown whether they were', CHARGE, [
      'if (isSent && (isLastTry || !isCharge)) {',
      'if (isSent && isLastTry) {',
    ]),
    focus: { focus: 'spending', faults: ['loseReply'] },
  },
  {
    ...bug('units that were forgiven are given back', CHARGE, [
      'const free = Math.min(units, this.uncharged);',
      'const free = units - units;',
    ]),
    focus: { focus: 'spending', faults: [] },
  },
  {
    ...bug('units that were lost are not counted as lost', CHARGE, [
      "this.tell('lost', units);",
      '',
    ]),
    focus: { focus: 'spending', faults: ['loseRequest'] },
  },
  {
    ...bug('a settlement that could not be sent is dropped', 'core/src/meter/resends.ts', [
      'this.onGivenUp.set(step, givenUp);',
      'if (step) return;\n    this.onGivenUp.set(step, givenUp);',
    ]),
    focus: { focus: 'spending' },
  },
  {
    ...bug('a request that is cut off costs what it has added', SPENDING, [
      'if (!isCut || !floor) return { owed, keeps: true };',
      'if (!isCut) return { owed, keeps: true };',
    ]),
    focus: { focus: 'spending', faults: [] },
  },
  {
    ...bug('the last settlement counts', SPENDING, [
      'if (this.settled !== undefined) return false;',
      '',
    ]),
    focus: { focus: 'spending' },
  },
  {
    ...bug('what is added is charged beside the reservation', SPENDING, [
      'Math.max(units, line.charge.reserved)',
      'units + line.charge.reserved',
    ]),
    focus: { focus: 'spending' },
  },
  {
    ...bug('a settlement after the end is ignored', SPENDING, [
      'if (this.end && lines.length > 0 && late.length === 0) return false;',
      'if (this.end) return false;',
    ]),
    focus: { focus: 'spending' },
  },
];

/** Bugs by people who did not know the laws; docs/proof.md tells of others. */
const outsiders: readonly Bug[] = [
  {
    ...bug('requests that one limit rejects are counted for an outage', `${STORES}/fallback.ts`, [
      'const isRejected = anyRejects(steps, answers);',
      'const isRejected = answers.every(({ allowed }) => !allowed);',
    ]),
    focus: { focus: 'outages' },
  },
  {
    ...bug(
      'a live change lasts until a later one has ended',
      'core/src/control/active-overrides.ts',
      [
        'this.nextEndMs = Math.min(this.nextEndMs, override.untilMs);\n    this.forget',
        'this.nextEndMs = override.untilMs;\n    this.forget',
      ],
    ),
    focus: { focus: 'changes' },
  },
  {
    name: 'a pause that another process began is forgotten when the store fails',
    mutations: [
      {
        file: 'core/src/algorithms/queue.ts',
        from: 'pausedUntilUs && pausedUntilUs - nowUs',
        to: '0 * (pausedUntilUs - nowUs)',
      },
      { file: KEY_PAUSE, from: 'if (!failure || pausedUntil) ', to: '' },
    ],
    focus: { focus: 'jobs', faults: ['down', 'hang', 'loseReply'] },
  },
  {
    ...bug('a response that comes after maxRun is not kept', `${ONCE}/run.ts`, [
      'if (this.exchange.isAnswered() ||',
      'if (this.controller.signal.aborted || this.exchange.isAnswered() ||',
    ]),
    focus: { focus: 'claims', faults: [] },
  },
  bug('the key of leases ends before a lease that was renewed', LEASES, [
    "if call('PTTL', key) < ms then",
    "if call('PTTL', key) < 0 then",
  ]),
  {
    ...bug(
      'a claim is not renewed, because its limiter also waits for the end',
      'core/src/guard/guard-admission.ts',
      [
        `const isHeld = step && takesHold(turn) && this.releases.permitsOf(step).begin(turn, turns);
      if (isHeld || needsEnd(turn, !allowed)) {`,
        `const holds = () => step && takesHold(turn) && this.releases.permitsOf(step).begin(turn, turns);
      if (needsEnd(turn, !allowed) || holds()) {`,
      ],
    ),
    focus: { focus: 'claims', faults: [] },
  },
  {
    ...bug('a store that is well and ill by turns counts as well', `${STORES}/probe.ts`, [
      `this.wellUs = isBack ? (this.wellUs ?? this.doneUs) : undefined;
        if (this.wellUs !== undefined && this.doneUs - this.wellUs >= healthyUs()) back();`,
      `if (isBack) this.wellUs ??= this.doneUs;
        if (isBack && this.doneUs - (this.wellUs ?? this.doneUs) >= healthyUs()) back();`,
    ]),
    focus: { focus: 'outages', faults: ['loseReply', 'loseRequest'] },
  },
  {
    ...bug('the end of a claim is not sent a third time', `${UPKEEP}/lost-releases.ts`, [
      `this.underWay.delete(release);
    if (this.expiryUs.has(release)) return;`,
      `if (this.expiryUs.has(release)) return;
    this.underWay.delete(release);`,
    ]),
    focus: { focus: 'claims', faults: ['down', 'hang'] },
  },
  {
    ...bug('the fallback learns of a release only in an outage', `${STORES}/fallback.ts`, [
      `this.counters.notePermits(steps);
    const parts = this.parts(steps);
    if (parts) return this.askAcross(parts, steps, options).then(then);
    const barred = this.calls.breaker?.bar(steps, options);
    if (!barred) return this.call(steps, then, options);`,
      `const parts = this.parts(steps);
    if (parts) return this.askAcross(parts, steps, options).then(then);
    const barred = this.calls.breaker?.bar(steps, options);
    if (!barred) return this.call(steps, then, options);
    this.counters.notePermits(steps);`,
    ]),
    focus: { focus: 'permits', faults: ['down', 'hang'] },
  },
  {
    ...bug('a charge is sent again until it is answered', CHARGE, [
      'this.hear(own, answer, isLastTry || isSent, endUs);',
      'this.hear(own, answer, isLastTry, endUs);',
    ]),
    focus: { focus: 'spending', faults: ['loseReply'] },
  },
  bug('a refund gives back what an earlier window has charged', LOCK, [
    'return step.at == step.ends and step.current > 0',
    'return step.at <= step.ends and step.current > 0',
  ]),
  {
    ...bug(
      'a process that closes gives up the claims of requests that run',
      `${UPKEEP}/permits.ts`,
      [
        '...[...this.claims.values()].flatMap((cycle) => cycle.endLeases(false)),',
        '...[...this.claims.values()].flatMap((cycle) => cycle.endLeases(true)),',
      ],
    ),
    focus: { focus: 'claims', faults: ['deploy'] },
  },
];

const aborts: readonly Bug[] = [
  {
    ...bug('a job runs twice', 'outgoing/src/shaper/shaper.ts', [
      'return job.runJob() as Promise<T>;',
      'void job.runJob().catch(() => undefined);\n    return job.runJob() as Promise<T>;',
    ]),
    focus: { focus: 'jobs' },
  },
  {
    ...bug('a job that has started still takes slots', 'outgoing/src/shaper/schedule.ts', [
      'if (job) this.removeJob(job);',
      '',
    ]),
    focus: { focus: 'jobs' },
  },
  {
    ...bug('a job that cannot start in time waits for ever', 'outgoing/src/shaper/job-queue.ts', [
      'while (this.expiryUs() < nowUs) {',
      'while (this.expiryUs() < -nowUs) {',
    ]),
    focus: { focus: 'jobs' },
  },
  {
    ...bug(
      'the permit of a job that has ended serves two jobs',
      'outgoing/src/shaper/job-queue.ts',
      ['this.freePermits.push(permit);', 'this.freePermits.push(permit, permit);'],
    ),
    focus: { focus: 'jobs', faults: [] },
  },
  {
    ...bug('a job that is given up waits for its slot', 'outgoing/src/shaper/job.ts', [
      `this.rejectResult(this.signal?.reason);
    this.onAborted();`,
      'this.onAborted();',
    ]),
    focus: { focus: 'jobs', faults: [] },
  },
];

const calendars: readonly Bug[] = [
  {
    ...bug('lost units are not added', `${ONCE}/restore-from.ts`, [
      'if (isRaised || cost <= 0) {',
      'if (isRaised || cost <= 0 || cost > 0) {',
    ]),
    focus: { focus: 'quotas' },
  },
  {
    ...bug('a share is reported only when it is exceeded', `${ONCE}/thresholds.ts`, [
      'if (!(used / policy.limit >= share)) return;',
      'if (!(used / policy.limit > share)) return;',
    ]),
    focus: { focus: 'quotas' },
  },
  {
    ...bug('any number of loads run at once', `${ONCE}/restore-from.ts`, [
      'const MOST_LOADING = 8;',
      'const MOST_LOADING = 100;',
    ]),
    focus: { focus: 'quotas' },
  },
  {
    ...bug(
      'an earlier billing period ends a later one',
      'redis/src/algorithms/calendar/calendar.lua',
      [
        'if now >= ends or later > SAME then',
        'if now >= ends or later > SAME or later < -SAME then',
      ],
    ),
    focus: { focus: 'quotas' },
  },
  {
    ...bug('a load does not look whether its mark was lost', `${ONCE}/restore-from.ts`, [
      'const isHeld = held.owner === mark.claim?.owner;',
      'const isHeld = true;',
    ]),
    focus: { focus: 'quotas', faults: ['restart'] },
  },
  {
    ...bug('an unknown period is named like the next one', `${ONCE}/thresholds.ts`, [
      ': { until: resetsAt };',
      ': resetsAt;',
    ]),
    focus: { focus: 'quotas', faults: [] },
  },
];

/** Defects of ours that the simulator found, planted again. */
const found: readonly Bug[] = [
  {
    ...bug('a renewal that fails counts its permit again', `${STORES}/fallback.ts`, [
      "isRenewal(step) ? 'look' : doing(step)",
      'doing(step)',
    ]),
    focus: { focus: 'permits', faults: ['down', 'hang', 'loseReply'] },
  },
  {
    ...bug('a short pause ends a longer one in an outage', 'core/src/algorithms/queue.ts', [
      'pausedUntilUs && pausedUntilUs - nowUs',
      '0 * (pausedUntilUs - nowUs)',
    ]),
    focus: { focus: 'jobs', faults: ['down', 'hang', 'loseReply'] },
  },
  {
    ...bug('what a settlement gives back waits for no longer than a callback', SPENDING, [
      "if (!('then' in steps)) return steps;",
      'if (charge) return steps;',
    ]),
    focus: { focus: 'spending', faults: ['loseReply'] },
  },
  {
    ...bug(
      'a free permit stays while a pause lets no job start',
      'outgoing/src/shaper/job-queue.ts',
      ['if (!this.isRefilling) this.releaseFreePermits();', ''],
    ),
    focus: { focus: 'jobs', faults: ['down', 'loseReply'] },
  },
  {
    ...bug('what charges that wait may not charge is given back', CHARGE, [
      'Math.min(units - free, this.waiting - this.surplus)',
      '0',
    ]),
    focus: { focus: 'spending', faults: ['down', 'loseReply'] },
  },
];

export const BUGS: readonly Bug[] = [
  ...buckets,
  ...windows,
  ...locks,
  ...groups,
  ...permits,
  ...claims,
  ...jobs,
  ...aborts,
  ...resilience,
  ...settings,
  ...items,
  ...calendars,
  ...meters,
  ...outsiders,
  ...found,
];
