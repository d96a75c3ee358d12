/** The checks of `doctor`: from what a Redis said to what it means for limits, and what to do. */

import type { Facts, ServerFacts } from './facts.js';
import type { Finding } from './finding.js';
import { isRefusal, type Rights } from './rights.js';
import { isSafeVersion, isSupported, type ServerVersion, versionFrom } from './versions.js';

const OPERATIONS = 'https://github.com/spillway/spillway/blob/main/docs/operations.md';
const LIST_OF_RIGHTS = `${OPERATIONS}#least-privilege-in-redis`;

/** A guard waits for its store for 50 ms, unless told otherwise. */
const STORE_TIMEOUT_MS = 50;

/** A call may take some times as long as an idle one. */
const SLOW_MS = 10;

/** Live settings and windows end by the clock of Redis; the stand-in of an outage counts by that of the process. */
const CLOCKS_APART_MS = 1_000;

/** All findings, in the order in which one would look. */
export function findingsOf(facts: Facts): Finding[] {
  return [
    ...facts.servers.flatMap((server) => serverFindings(server, facts)),
    ...rightsFindings(facts),
    limitersFinding(facts),
    settingsFinding(facts),
    CLIENTS,
  ];
}

function serverFindings(server: ServerFacts, { isCluster, servers }: Facts): Finding[] {
  const { info } = server;
  const findings = [connection(server), clock(server)];
  if (isCluster) findings.push(coverage(server));
  if (info) {
    findings.push(
      version(info),
      role(info),
      eviction(info),
      memory(info),
      evicted(info),
      cluster(info, isCluster),
    );
  } else {
    findings.push({
      check: 'info',
      verdict: 'unknown',
      found: 'this user may not run INFO: version, memory and role cannot be seen',
      todo: 'Give the user +info, or ask as another user',
    });
  }
  // With one server its address is said once, with the connection.
  if (servers.length === 1) return findings;
  return findings.map((one) => ({ ...one, found: `${server.address}: ${one.found}` }));
}

function connection({ address, roundTripMs }: ServerFacts): Finding {
  const check = 'connection';
  const found = `${address} answers in ${roundTripMs.toFixed(1)} ms`;
  if (roundTripMs < SLOW_MS) return { check, verdict: 'ok', found };
  return {
    check,
    verdict: roundTripMs < STORE_TIMEOUT_MS ? 'warning' : 'problem',
    found: `${found}, and a guard waits ${STORE_TIMEOUT_MS} ms at most`,
    todo: 'If it is as far from your service: put them in one place, or raise storeTimeout',
  };
}

function clock({ aheadMs }: ServerFacts): Finding {
  const check = 'clock';
  if (aheadMs === undefined)
    return { check, verdict: 'unknown', found: 'this user may not run TIME' };
  const apart = `${(Math.abs(aheadMs) / 1000).toFixed(1)} s`;
  if (Math.abs(aheadMs) < CLOCKS_APART_MS)
    return { check, verdict: 'ok', found: 'the same as here' };
  return {
    check,
    verdict: 'warning',
    found: `the clock of Redis is ${apart} ${aheadMs > 0 ? 'ahead of' : 'behind'} the one here`,
    todo: 'Let NTP set both: the stand-in of an outage counts by the clock of the process',
  };
}

function version(info: ReadonlyMap<string, string>): Finding {
  const check = 'version';
  const server = versionFrom(info);
  if (!server) return { check, verdict: 'unknown', found: 'INFO does not tell the version' };
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
    found: `${found} has known faults in its Lua engine (CVE-2025-49844), unless your distribution has patched them`,
    todo: 'Take the latest patch, or make sure that your package has the fix',
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
      found: 'it is loading its data, and answers nothing else',
      todo: 'Wait until it has loaded',
    };
  }
  if (said === undefined) return { check, verdict: 'unknown', found: 'INFO does not tell it' };
  if (said === 'master') return { check, verdict: 'ok', found: 'a master' };
  return {
    check,
    verdict: 'problem',
    found: 'a replica: nothing can be counted here',
    todo: 'Connect to the master: through Sentinel, a Cluster client, or the address for writes of your provider',
  };
}

function eviction(info: ReadonlyMap<string, string>): Finding {
  const check = 'eviction';
  const policy = info.get('maxmemory_policy');
  if (policy === undefined)
    return { check, verdict: 'unknown', found: 'INFO does not tell maxmemory-policy' };
  if (policy === 'noeviction') return { check, verdict: 'ok', found: 'noeviction' };
  return {
    check,
    verdict: 'warning',
    found: `maxmemory-policy is ${policy}: a full Redis forgets the counts of callers who are blocked`,
    todo: `Give limits a Redis of their own, and CONFIG SET maxmemory-policy noeviction. See ${OPERATIONS}#when-redis-is-full`,
  };
}

function memory(info: ReadonlyMap<string, string>): Finding {
  const check = 'memory';
  const used = Number(info.get('used_memory'));
  const most = Number(info.get('maxmemory'));
  if (!info.has('used_memory') || Number.isNaN(used + most))
    return { check, verdict: 'unknown', found: 'INFO does not tell it' };
  if (most === 0) {
    return {
      check,
      verdict: 'warning',
      found: `${megabytes(used)} used, without a limit: new callers can fill the machine`,
      todo: 'CONFIG SET maxmemory: ten times the keys of a busy day, some 120 bytes for each token bucket',
    };
  }
  const found = `${megabytes(used)} of ${megabytes(most)} used`;
  if (used < 0.8 * most) return { check, verdict: 'ok', found };
  return {
    check,
    verdict: 'warning',
    found,
    todo: 'Give it more memory, or find who makes so many keys, before it is full',
  };
}

function evicted(info: ReadonlyMap<string, string>): Finding {
  const check = 'evicted';
  const keys = Number(info.get('evicted_keys') ?? Number.NaN);
  if (Number.isNaN(keys)) return { check, verdict: 'unknown', found: 'INFO does not tell it' };
  if (keys === 0) return { check, verdict: 'ok', found: 'no key since it was started' };
  return {
    check,
    verdict: 'warning',
    found: `${keys} keys since it was started: a count that is evicted begins from zero`,
    todo: 'Give it more memory, and set noeviction',
  };
}

function cluster(info: ReadonlyMap<string, string>, isCluster: boolean): Finding {
  const check = 'cluster';
  const said = info.get('cluster_enabled');
  if (said === undefined) return { check, verdict: 'unknown', found: 'INFO does not tell it' };
  if ((said === '1') === isCluster)
    return { check, verdict: 'ok', found: isCluster ? 'a node of one' : 'it is not one' };
  return {
    check,
    verdict: 'problem',
    found: 'this is one node of a Cluster',
    todo: 'Give your service a client for clusters (new Cluster([...])), and this command --cluster',
  };
}

function coverage({ wantsFullCoverage }: ServerFacts): Finding {
  const check = 'coverage';
  if (wantsFullCoverage === false)
    return { check, verdict: 'ok', found: 'a node that is gone takes only its own keys' };
  const todo = 'CONFIG SET cluster-require-full-coverage no on every node, and in its file';
  if (wantsFullCoverage === undefined) {
    return {
      check,
      verdict: 'unknown',
      found: 'this user may not run CONFIG GET, or the service hides it',
      todo,
    };
  }
  return {
    check,
    verdict: 'warning',
    found:
      'cluster-require-full-coverage is yes: while one node and its replicas are gone, the others answer nothing',
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
    findings.push({ check, verdict: 'ok', found: 'every command that the scripts use' });
  findings.push(writesFinding(rights));
  return findings;
}

function writesFinding({ missing, isKeyRefused, notWritten }: Rights): Finding {
  const check = 'writes';
  if (notWritten !== undefined) {
    return {
      check,
      verdict: 'problem',
      found: `Redis writes nothing: ${notWritten}`,
      todo: 'Until it does, onStoreError decides every request',
    };
  }
  if (isKeyRefused || missing.includes('set') || missing.includes('del'))
    return { check, verdict: 'unknown', found: 'not tried, for lack of rights' };
  return { check, verdict: 'ok', found: 'a key was written and removed' };
}

function keysRefused(prefix: string): Finding {
  return {
    check: 'rights',
    verdict: 'problem',
    found: `this user may not use keys that begin with ${prefix}`,
    todo: `ACL SETUSER <user> ~${prefix}*, or give the prefix of your store with --prefix`,
  };
}

function commandsRefused(commands: readonly string[]): Finding {
  return {
    check: 'rights',
    verdict: 'problem',
    found: `this user may not run ${commands.join(', ')}: onStoreError decides where a limit needs it`,
    todo: `ACL SETUSER <user> ${commands.map((one) => `+${one}`).join(' ')}. The whole list: ${LIST_OF_RIGHTS}`,
  };
}

/** The command that Redis names in a refusal; scripts at all, if it names none. */
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
    todo: 'If your service runs: does its store have another prefix, or is it a store in memory?',
  };
}

function settingsFinding({ settingsLost }: Facts): Finding {
  const check = 'settings';
  if (settingsLost instanceof Error)
    return { check, verdict: 'unknown', found: `they cannot be read: ${settingsLost.message}` };
  if (!settingsLost)
    return { check, verdict: 'ok', found: 'no live settings are known to be lost' };
  return {
    check,
    verdict: 'warning',
    found: 'the store has lost the live settings; running processes keep them',
    todo: `spillway restore writes them back, spillway clear --all ends them. See ${OPERATIONS}#when-redis-loses-its-data`,
  };
}

const CLIENTS: Finding = {
  check: 'clients',
  verdict: 'unknown',
  found: 'whether your service notices a Redis that hangs cannot be seen from here',
  todo: 'On ioredis set socketTimeout: 1000, and listen to error',
};

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
