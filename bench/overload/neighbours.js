/** Takes CPU time from a service that is not overloaded, by neighbours on its core or by a limit on its CPU time. */

import { spawn } from 'node:child_process';
import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pin } from '../harness/child.js';

const CGROUPS = ['/sys/fs/cgroup/cpu', '/sys/fs/cgroup'];
const PERIOD_US = 100_000;

/** Starts processes that burn one core. Returns a function that ends them. */
export function burners(count, core) {
  const all = Array.from({ length: count }, () => {
    const child = spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' });
    pin(child.pid, core);
    return child;
  });
  const end = () => {
    for (const child of all) child.kill('SIGKILL');
  };
  return { pids: all.map(({ pid }) => pid), end };
}

/** Limits the total CPU time of processes to a part of each 100 ms; undefined if control groups cannot be written. */
export function limitCpu(pids, part) {
  for (const root of CGROUPS) {
    const group = join(root, `spillway-bench-${process.pid}`);
    try {
      mkdirSync(group);
      limit(group, Math.round(part * PERIOD_US));
      for (const pid of pids) writeFileSync(join(group, 'cgroup.procs'), `${pid}`);
      return { end: () => removeSoon(group) };
    } catch {
      removeSoon(group);
    }
  }
  return undefined;
}

/** Limits a control group. Version 1 of control groups has two files for that, version 2 has one. */
function limit(group, quotaUs) {
  try {
    writeFileSync(join(group, 'cpu.max'), `${quotaUs} ${PERIOD_US}`, { flag: 'r+' });
  } catch {
    writeFileSync(join(group, 'cpu.cfs_period_us'), `${PERIOD_US}`, { flag: 'r+' });
    writeFileSync(join(group, 'cpu.cfs_quota_us'), `${quotaUs}`, { flag: 'r+' });
  }
}

/** Retries, because a group can be removed only when its processes have ended. */
function removeSoon(group, tries = 20) {
  try {
    rmdirSync(group);
  } catch (error) {
    if (error.code !== 'ENOENT' && tries > 0) setTimeout(() => removeSoon(group, tries - 1), 100);
  }
}

/** Stops a process for the rest of each period, without control groups. Returns a function to end that. */
export function pauses(pid, everyMs, ownMs) {
  let timer;
  const run = () => {
    process.kill(pid, 'SIGCONT');
    timer = setTimeout(stop, ownMs);
  };
  const stop = () => {
    process.kill(pid, 'SIGSTOP');
    timer = setTimeout(run, everyMs - ownMs);
  };
  run();
  return {
    end() {
      clearTimeout(timer);
      process.kill(pid, 'SIGCONT');
    },
  };
}
