/**
 * One contender on one connection, or on one connection to each of the given Cluster nodes: a closed loop with several
 * decisions in flight, and its cost for client and server.
 */

import { once } from 'node:events';
import { Cluster, Redis } from 'ioredis';
import { answerCalls } from '../harness/child.js';
import { cpuUs } from '../harness/cpu.js';
import { makeKeys, shuffled } from '../harness/keys.js';
import { median } from '../harness/stats.js';
import { reservesInRedis } from '../shaper/reserves.js';
import { contenders, mastersOf, threefold } from './contenders.js';

const [name, ...ports] = process.argv.slice(2);
const nodes = ports.map((port) => ({ host: '127.0.0.1', port: Number(port) }));
const client = nodes.length > 1 ? new Cluster(nodes) : new Redis(nodes[0]);
await once(client, 'ready');
const decide = await { ...contenders, ...threefold, ...reservesInRedis }[name].make(client);
const keys = makeKeys(10_000);
const sequence = shuffled(keys, keys.length);
let next = 0;

async function info(master, section, ...fields) {
  const text = await master.info(section);
  return fields.map((field) => Number(text.match(new RegExp(`${field}:(\\S+)`))[1]));
}

/** CPU time of the server, user and system. For a Cluster, the sum over all masters. */
async function serverUs() {
  const fields = ['used_cpu_user', 'used_cpu_sys'];
  const all = await Promise.all(mastersOf(client).map((one) => info(one, 'cpu', ...fields)));
  return all.flat().reduce((sum, seconds) => sum + seconds, 0) * 1e6;
}

async function loop(until, latencies, sampleMask) {
  let count = 0;
  for (;;) {
    const key = sequence[next];
    next = next + 1 === sequence.length ? 0 : next + 1;
    const sampled = (count & sampleMask) === 0;
    const start = sampled ? performance.now() : 0;
    // `until` is checked only when the time is read.
    if (start >= until) return count;
    await decide(key);
    if (sampled) latencies.push(performance.now() - start);
    count += 1;
  }
}

async function turn(inFlight, ms) {
  const latencies = [];
  const server = await serverUs();
  const own = cpuUs();
  const start = performance.now();
  // Reading the clock takes time. So with many decisions in flight, only one in four is timed.
  const sampleMask = inFlight > 1 ? 3 : 0;
  const loops = Array.from({ length: inFlight }, () => loop(start + ms, latencies, sampleMask));
  const counts = await Promise.all(loops);
  const elapsed = performance.now() - start;
  const clientSpent = cpuUs() - own;
  const serverSpent = (await serverUs()) - server;
  const count = counts.reduce((sum, part) => sum + part, 0);
  return {
    rate: (count * 1000) / elapsed,
    p50Us: median(latencies) * 1000,
    clientUs: clientSpent / count,
    serverUs: serverSpent / count,
  };
}

async function askAll() {
  for (let i = 0; i < keys.length; i += 100) {
    await Promise.all(keys.slice(i, i + 100).map((key) => decide(key)));
  }
}

/** The memory of the server, without the buffers of its clients. */
async function held() {
  const [used, clients] = await info(client, 'memory', 'used_memory', 'mem_clients_normal');
  return used - clients;
}

/** Bytes of the server's memory per new key. */
async function bytes() {
  await askAll(); // loads the script
  await client.flushall('SYNC');
  const before = await held();
  await askAll();
  return ((await held()) - before) / keys.length;
}

answerCalls({ bytes, turn });
