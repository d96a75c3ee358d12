/**
 * Measures what the picture of the dashboard shows: two processes of the service under load on one Redis, scraped by a
 * real Prometheus. Asks it the queries of ops/grafana/spillway.json and writes the answers to tools/pictures/board.json.
 * Says which of them had no data, and which alerts went off. Takes 11 minutes, and needs `prometheus` and
 * `redis-server` on PATH; with `prometheus-redis-exporter` there, the alerts on Redis can go off too.
 * `node tests/metrics/board/measure.js`, then `npx vitest run tests/pictures -u`.
 */

import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { parse, stringify } from 'yaml';
import { SECONDS, STORY, traffic, WARM_UP } from './traffic.js';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const PORTS = { redis: 16_370, prometheus: 19_090, exporter: 19_121, services: [13_001, 13_002] };
const STEP_SECONDS = 10;
/** Grafana's rate interval for a scrape every 5 s: four scrapes. */
const RATE_INTERVAL = '20s';

const dir = mkdtempSync(join(tmpdir(), 'spillway-board-'));
const children = [];

function start(program, ...args) {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  child.on('error', (error) => console.warn(`${program}: ${error.message}`));
  children.push(child);
  return child;
}

/** The alerts, but with shorter times for which they must hold. */
function hastyRules(name) {
  const path = join(dir, name);
  const file = parse(readFileSync(join(ROOT, 'ops', 'prometheus', name), 'utf8'));
  for (const rule of file.groups.flatMap(({ rules }) => rules)) {
    if (rule.for) rule.for = '10s';
    rule.keep_firing_for = undefined;
  }
  writeFileSync(path, stringify(file));
  return path;
}

const scrape = (job, ports) => ({
  job_name: job,
  static_configs: [{ targets: ports.map((port) => `127.0.0.1:${port}`) }],
});

async function ask(path, params) {
  const url = `http://127.0.0.1:${PORTS.prometheus}/api/v1/${path}?${new URLSearchParams(params)}`;
  const { status, data, error } = await (await fetch(url)).json();
  if (status !== 'success') throw new Error(`${params.query}: ${error}`);
  return data;
}

/** A query as Grafana sends it when all jobs and limiters are chosen. */
const filled = (expr) =>
  expr.replaceAll('$__rate_interval', RATE_INTERVAL).replaceAll(/\$(job|limiter)\b/g, '.*');

const nameOf = (legend, labels) =>
  legend.replaceAll(/{{(\w+)}}/g, (_, label) => labels[label] ?? '');

async function panelData(panel, startS) {
  const series = [];
  for (const { expr, legendFormat } of panel.targets) {
    const range = { start: startS, end: startS + SECONDS, step: STEP_SECONDS };
    const { result } = await ask('query_range', { query: filled(expr), ...range });
    if (result.length === 0) console.warn(`No data: ${panel.title}: ${legendFormat}`);
    for (const { metric, values } of result) {
      const points = Array.from({ length: SECONDS / STEP_SECONDS + 1 }, () => '-');
      for (const [atS, value] of values) {
        const number = Number(value);
        if (Number.isFinite(number)) {
          points[Math.round((atS - startS) / STEP_SECONDS)] = Number(number.toPrecision(3));
        }
      }
      series.push({ name: nameOf(legendFormat, metric), points: points.join(' ') });
    }
  }
  return { title: panel.title, queries: panel.targets.map(({ expr }) => expr), series };
}

/** For the alerts on Redis: writes more than its memory can hold. */
async function fillRedis() {
  const redis = new Redis(PORTS.redis, '127.0.0.1');
  for (let i = 0; i < 400; i += 1) await redis.set(`filler-${i}`, 'x'.repeat(100_000));
  await sleep(30_000);
  redis.disconnect();
}

async function reportAlerts(startS) {
  const range = { start: startS, end: Date.now() / 1_000, step: STEP_SECONDS };
  const { result } = await ask('query_range', { query: 'ALERTS', ...range });
  const { groups } = await ask('rules', {});
  for (const { name, health, lastError = '' } of groups.flatMap(({ rules }) => rules)) {
    const seen = result.filter(({ metric }) => metric.alertname === name);
    const states = [...new Set(seen.map(({ metric }) => metric.alertstate))];
    console.log(`${name}: ${health} ${lastError} ${states.join(', ') || 'never'}`);
  }
}

async function main() {
  const rule_files = ['alerts.yml', 'redis.yml'].map(hastyRules);
  const config = {
    global: { scrape_interval: '5s', evaluation_interval: '5s' },
    rule_files,
    scrape_configs: [scrape('shop', PORTS.services), scrape('redis', [PORTS.exporter])],
  };
  writeFileSync(join(dir, 'prometheus.yml'), stringify(config));
  const limits = ['--maxmemory', '24mb', '--maxmemory-policy', 'allkeys-lru'];
  const redis = start('redis-server', '--port', PORTS.redis, '--save', '', '--dir', dir, ...limits);
  start(
    'prometheus',
    `--config.file=${dir}/prometheus.yml`,
    `--storage.tsdb.path=${dir}/data`,
    `--web.listen-address=127.0.0.1:${PORTS.prometheus}`,
    '--log.level=warn',
  );
  const exporter = ['-redis.addr', `redis://127.0.0.1:${PORTS.redis}`];
  start(
    'prometheus-redis-exporter',
    ...exporter,
    '-web.listen-address',
    `127.0.0.1:${PORTS.exporter}`,
  );
  await sleep(1_000);
  const service = join(import.meta.dirname, 'service.js');
  for (const port of PORTS.services) start(process.execPath, service, port, PORTS.redis);
  await sleep(2_000);
  await traffic(PORTS.services, redis, WARM_UP);
  const startS = Math.ceil(Date.now() / 1_000);
  await traffic(PORTS.services, redis, STORY);
  const { panels, annotations } = JSON.parse(
    readFileSync(join(ROOT, 'ops', 'grafana', 'spillway.json'), 'utf8'),
  );
  const drawn = panels.filter(({ targets }) => targets);
  const all = [];
  for (const panel of drawn) all.push(await panelData(panel, startS));
  const marks = annotations.list.map(({ name, expr, titleFormat }) => ({
    title: name,
    targets: [{ expr, legendFormat: titleFormat }],
  }));
  const marked = [];
  for (const mark of marks) marked.push(await panelData(mark, startS));
  await fillRedis();
  await reportAlerts(startS);
  const { version } = await ask('status/buildinfo', {});
  const versions = {
    prometheus: version.split('+')[0],
    redis: redisVersion(),
    node: process.versions.node,
  };
  const measured = {
    versions,
    seconds: SECONDS,
    stepSeconds: STEP_SECONDS,
    panels: all,
    marks: marked,
  };
  const path = join(ROOT, 'tools', 'pictures', 'board.json');
  writeFileSync(path, `${JSON.stringify(measured, null, 2)}\n`);
  spawnSync('npx', ['biome', 'format', '--write', path], { cwd: ROOT });
}

function redisVersion() {
  const { stdout } = spawnSync('redis-server', ['--version'], { encoding: 'utf8' });
  return /v=(\S+)/.exec(stdout)?.[1];
}

try {
  await main();
} finally {
  for (const child of children) child.kill('SIGKILL');
  rmSync(dir, { recursive: true, force: true });
}
