import type { Facts, ServerFacts } from './facts.js';
import type { Finding } from './finding.js';
import { isRefusal, type Rights } from './rights.js';
import { isSafeVersion, isSupported, type ServerVersion, versionFrom } from './versions.js';

const OPERATIONS = 'https://github.com/spillway/spillway/blob/main/docs/operations.md';
const LIST_OF_RIGHTS = `${OPERATIONS}#least-privilege-in-redis`;

const STORE_TIMEOUT_MS = 50;

/**
 * A warning is due if a round trip takes this long. Under load, it takes several times as long, and may exceed the
 * timeout of the store.
 */
const SLOW_MS = 10;

/**
 * A warning is due if the clocks of Redis and of this machine differ by this much. Windows in Redis end by its clock,
 * but windows of fallback counters end by the clock of the process.
 */
const CLOCKS_APART_MS = 1_000;

/** Returns the findings, the most fundamental first. */
export function findingsOf(facts: Facts): Finding[] {
  return [
    ...(facts.servers.length === 0 ? [UNREACHABLE] : []),
    ...facts.servers.flatMap((server) => serverFindings(server, facts)),
    ...rightsFindings(facts),
    limitersFinding(facts),
    settingsFinding(facts),
    CLIENTS,
  ];
}

function serverFindings(server: ServerFacts, facts: Facts): Finding[] {
  const { isCluster, servers } = facts;
  const { info } = server;
  const findings = [connection(server), clock(server)];
  if (isCluster) findings.push(coverage(server));
  if (info) {
    findings.push(
      version(info),
      role(info),
      eviction(info, calendarNames(facts)),
      memory(info),
      evicted(info),
      cluster(info, isCluster),
    );
  } else {
    findings.push({
      check: 'info',
      verdict: 'unknown',
      found: 'this user may not run INFO, so version, memory and role are unknown',
      todo: 'Give the user +info, or connect as another user',
    });
  }
  if (servers.length === 1) return findings;
  return findings.map((one) => ({ ...one, found: `${server.address}: ${one.found}` }));
}

function connection({ address, medianRoundTripMs }: ServerFacts): Finding {
  const check = 'connection';
  const found = `${address} answers in ${medianRoundTripMs.toFixed(1)} ms`;
  if (medianRoundTripMs < SLOW_MS) return { check, verdict: 'ok', found };
  return {
    check,
    verdict: medianRoundTripMs < STORE_TIMEOUT_MS ? 'warning' : 'problem',
    found: `${found}, and a guard waits at most ${STORE_TIMEOUT_MS} ms`,
    todo: 'If it is as slow from your service: move them closer together, or raise storeTimeout',
  };
}

function clock({ aheadMs }: ServerFacts): Finding {
  const check = 'clock';
  if (aheadMs === undefined)
    return { check, verdict: 'unknown', found: 'this user may not run TIME' };
  const apart = `${(Math.abs(aheadMs) / 1000).toFixed(1)} s`;
  if (Math.abs(aheadMs) < CLOCKS_APART_MS)
    return { check, verdict: 'ok', found: 'the same as on this machine' };
  return {
    check,
    verdict: 'warning',
    found: `the clock of Redis is ${apart} ${aheadMs > 0 ? 'ahead of' : 'behind'} the clock of this machine`,
    todo: 'Sync both by NTP: during an outage, fallback counters use the clock of the process',
  };
}

function version(info: ReadonlyMap<string, string>): Finding {
  const check = 'version';
  const server = versionFrom(info);
  if (!server) return { check, verdict: 'unknown', found: 'not in INFO' };
  const found = versionName(server);
  if (!isSupported(server)) {
    return {
      check,
      verdict: 'problem',
      found: `${found} is too old`,
      todo: 'Run Redis 6.2 or later, or Valkey',
    };
  }
  if (isSafeVersion(server)) return { check, verdict: 'ok', found };
  return {
    check,
    verdict: 'warning',
    found: `${found} has known vulnerabilities in its Lua engine (CVE-2025-49844), unless your distribution has patched them`,
    todo: 'Upgrade to the latest patch release, or make sure that your package has the fix',
  };
}

function versionName({ product, text }: ServerVersion): string {
  return `${product} ${text}`;
}

function role(info: ReadonlyMap<string, string>): Finding {
  const check = 'role';
  const said = info.get('role');
  if (info.get('loading') === '1') {
    return {
      check,
      verdict: 'problem',
      found: 'still loading its data: it executes no commands until then',
      todo: 'Wait until it has loaded',
    };
  }
  if (said === undefined) return { check, verdict: 'unknown', found: 'not in INFO' };
  if (said === 'master') return { check, verdict: 'ok', found: 'a master' };
  return {
    check,
    verdict: 'problem',
    found: 'a replica, which takes no writes, so nothing can be counted',
    todo: "Connect to the master: through Sentinel, a Cluster client, or your provider's address for writes",
  };
}

/**
 * @param quotas names of limiters with calendar windows. If there are any, eviction is a `problem`, because Redis would
 *   forget how much of their quotas is used
 */
function eviction(info: ReadonlyMap<string, string>, quotas: readonly string[]): Finding {
  const check = 'eviction';
  const policy = info.get('maxmemory_policy');
  if (policy === undefined) return { check, verdict: 'unknown', found: 'not in INFO' };
  if (policy === 'noeviction') return { check, verdict: 'ok', found: 'noeviction' };
  const isQuota = quotas.length > 0;
  const lost = isQuota
    ? `forgets what was used of the quotas of ${quotas.join(', ')}`
    : 'evicts counts of callers who are over their limit';
  return {
    check,
    verdict: isQuota ? 'problem' : 'warning',
    found: `maxmemory-policy is ${policy}: a full Redis ${lost}`,
    todo: `Give limits a separate Redis, and CONFIG SET maxmemory-policy noeviction. See ${OPERATIONS}#when-redis-is-full`,
  };
}

function calendarNames({ limiters }: Facts): string[] {
  if (limiters instanceof Error) return [];
  const isCalendar = ({ algorithm }: { algorithm: string }) => algorithm.startsWith('calendar:');
  return limiters.filter(({ declared }) => declared.some(isCalendar)).map(({ name }) => name);
}

function memory(info: ReadonlyMap<string, string>): Finding {
  const check = 'memory';
  const used = Number(info.get('used_memory'));
  const most = Number(info.get('maxmemory'));
  if (!info.has('used_memory') || Number.isNaN(used + most))
    return { check, verdict: 'unknown', found: 'not in INFO' };
  if (most === 0) {
    return {
      check,
      verdict: 'warning',
      found: `${megabytes(used)} used, without a limit: a flood of new callers can fill the machine's memory`,
      todo: 'CONFIG SET maxmemory: ten times the keys of a busy day, about 120 bytes per token bucket',
    };
  }
  const found = `${megabytes(used)} of ${megabytes(most)} used`;
  if (used < 0.8 * most) return { check, verdict: 'ok', found };
  return {
    check,
    verdict: 'warning',
    found,
    todo: 'Before it is full, give it more memory, or find out what creates so many keys',
  };
}

function evicted(info: ReadonlyMap<string, string>): Finding {
  const check = 'evicted';
  const keys = Number(info.get('evicted_keys') ?? Number.NaN);
  if (Number.isNaN(keys)) return { check, verdict: 'unknown', found: 'not in INFO' };
  if (keys === 0) return { check, verdict: 'ok', found: 'no key since the server started' };
  return {
    check,
    verdict: 'warning',
    found: `${keys} keys since the server started: an evicted count starts again from zero`,
    todo: 'Give it more memory, and set noeviction',
  };
}

function cluster(info: ReadonlyMap<string, string>, isCluster: boolean): Finding {
  const check = 'cluster';
  const said = info.get('cluster_enabled');
  if (said === undefined) return { check, verdict: 'unknown', found: 'not in INFO' };
  if ((said === '1') === isCluster)
    return { check, verdict: 'ok', found: isCluster ? 'a node of a Cluster' : 'not a Cluster' };
  return {
    check,
    verdict: 'problem',
    found: 'a node of a Cluster, but the client is for a single server',
    todo: 'Use a Cluster client in your service (new Cluster([...])), and --cluster with this command',
  };
}

function coverage({ wantsFullCoverage }: ServerFacts): Finding {
  const check = 'coverage';
  if (wantsFullCoverage === false)
    return { check, verdict: 'ok', found: 'a node that is down affects only its own keys' };
  const todo = 'CONFIG SET cluster-require-full-coverage no on every node, and in its file';
  if (wantsFullCoverage === undefined) {
    return {
      check,
      verdict: 'unknown',
      found: 'this user may not run CONFIG GET, or the provider hides the setting',
      todo,
    };
  }
  return {
    check,
    verdict: 'warning',
    found:
      'cluster-require-full-coverage is yes: while a node and its replicas are down, the whole Cluster is',
    todo,
  };
}

function rightsFindings({ rights, prefix }: Facts): Finding[] {
  const check = 'rights';
  if (rights instanceof Error) {
    const { message } = rights;
    if (!isRefusal(message)) return [{ check, verdict: 'unknown', found: message }];
    const isOfKey = /\bkeys\b/.test(message);
    return [isOfKey ? keysRefused(prefix) : commandsRefused([namedIn(message)])];
  }
  const { missing, isKeyRefused } = rights;
  const findings: Finding[] = [];
  if (isKeyRefused) findings.push(keysRefused(prefix));
  if (missing.length > 0) findings.push(commandsRefused(missing));
  if (findings.length === 0)
    findings.push({
      check,
      verdict: 'ok',
      found: 'this user may run every command that the scripts use',
    });
  findings.push(writesFinding(rights));
  return findings;
}

function writesFinding({ missing, isKeyRefused, notWritten }: Rights): Finding {
  const check = 'writes';
  if (notWritten !== undefined) {
    return {
      check,
      verdict: 'problem',
      found: `Redis rejects writes: ${notWritten}`,
      todo: 'Make it writable again. Until then, onStoreError decides every request',
    };
  }
  if (isKeyRefused || missing.includes('set') || missing.includes('del'))
    return { check, verdict: 'unknown', found: 'not tested, because rights are missing' };
  return { check, verdict: 'ok', found: 'a key was written and removed' };
}

function keysRefused(prefix: string): Finding {
  return {
    check: 'rights',
    verdict: 'problem',
    found: `this user may not use keys that start with ${prefix}`,
    todo: `ACL SETUSER <user> ~${prefix}*, or pass your store's prefix with --prefix`,
  };
}

function commandsRefused(commands: readonly string[]): Finding {
  return {
    check: 'rights',
    verdict: 'problem',
    found: `this user may not run ${commands.join(', ')}: if a limit needs it, onStoreError decides`,
    todo: `ACL SETUSER <user> ${commands.map((one) => `+${one}`).join(' ')}. Full list: ${LIST_OF_RIGHTS}`,
  };
}

/**
 * Returns the command that Redis names in a permission error. If Redis names none, the user may not run scripts at all,
 * so the result is `eval`.
 */
function namedIn(message: string): string {
  return /'([a-z|]+)'/.exec(message)?.[1] ?? 'eval';
}

function limitersFinding({ limiters, prefix }: Facts): Finding {
  const check = 'limiters';
  if (limiters instanceof Error)
    return { check, verdict: 'unknown', found: `the list cannot be read: ${limiters.message}` };
  if (limiters.length > 0) {
    const names = limiters.slice(0, 5).map(({ name }) => name);
    const more = limiters.length > 5 ? ` and ${limiters.length - 5} more` : '';
    return { check, verdict: 'ok', found: `announced by processes: ${names.join(', ')}${more}` };
  }
  return {
    check,
    verdict: 'warning',
    found: `no process has announced a limiter under the prefix ${prefix}`,
    todo: 'If your service is running: does its store have another prefix, or is it the memory store?',
  };
}

function settingsFinding({ settingsLost }: Facts): Finding {
  const check = 'settings';
  if (settingsLost instanceof Error)
    return { check, verdict: 'unknown', found: `they cannot be read: ${settingsLost.message}` };
  if (!settingsLost) return { check, verdict: 'ok', found: 'no lost live settings are known' };
  return {
    check,
    verdict: 'warning',
    found: 'the store has lost the live settings; running processes keep them',
    todo: `spillway restore writes them back, spillway clear --all removes them. See ${OPERATIONS}#when-redis-loses-its-data`,
  };
}

/** A Cluster that was reached may name no nodes, or nodes at addresses that only they can use. */
const UNREACHABLE: Finding = {
  check: 'connection',
  verdict: 'problem',
  found: 'CLUSTER SLOTS names no node that can be reached',
  todo: 'Assign slots, and set cluster-announce-ip on each node to an address that clients can use',
};

const CLIENTS: Finding = {
  check: 'clients',
  verdict: 'unknown',
  found: 'whether your service notices a hanging Redis cannot be checked from here',
  todo: "With ioredis, set socketTimeout: 1000 and listen to 'error' events",
};

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
