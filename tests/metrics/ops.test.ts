/** The dashboard and the alerts query only exported metrics, and Prometheus accepts the queries. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prometheusObserver } from '@spillway/prometheus';
import { Registry } from 'prom-client';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { ask, findTool } from './debian-tools.js';
import { parseScrape } from './exports.js';
import {
  ALERTS,
  alertRules,
  dashboardQueries,
  groupedBy,
  REDIS_ALERTS,
  ROOT,
  readDashboard,
  selectorsIn,
} from './queries.js';
import { play } from './story.js';

const RULES = [ALERTS, REDIS_ALERTS];
/** Each file of alerts has a test beside it. */
const ALERT_TESTS = RULES.map((file) => file.replace(/yml$/, 'test.yml'));
const RUNBOOK = 'https://github.com/spillway/spillway/blob/main/docs/3am.md';

interface AlertTests {
  readonly tests: readonly {
    readonly alert_rule_test: readonly {
      readonly alertname: string;
      readonly exp_alerts: readonly unknown[];
    }[];
  }[];
}

/** Added to every series by Prometheus itself. */
const SCRAPE_LABELS = ['job', 'instance'];
/** The values that labels can have: a query for any other finds nothing. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  outcome: ['allowed', 'denied', 'would-deny', 'replayed', 'would-replay', 'skipped', 'error'],
  reason: [
    ...['', 'rate', 'concurrency', 'capacity', 'overload', 'never', 'blocked', 'store-error'],
    ...['running', 'mismatch', 'not-kept', 'key-invalid'],
  ],
  priority: ['critical', 'post', 'get', 'test'],
  source: ['store'],
};

/** The labels of each metric that is exported. */
const exported = new Map<string, Set<string>>();

beforeAll(async () => {
  const register = new Registry();
  const observer = prometheusObserver({ register });
  await play([observer]);
  for (const { name, labels } of parseScrape(await register.metrics())) {
    const known = exported.get(name) ?? new Set(SCRAPE_LABELS);
    for (const label of Object.keys(labels)) known.add(label);
    exported.set(name, known);
  }
});

describe.each([
  ...dashboardQueries().map((query) => ({ of: 'dashboard', ...query })),
  ...alertRules([ALERTS]).map((query) => ({ of: 'alerts', ...query })),
])('$of: $source', ({ expr }) => {
  it('asks for metrics, labels and words that exist', () => {
    const selectors = selectorsIn(expr);
    expect(selectors).not.toEqual([]);
    const labels = selectors.map(({ metric }) => exported.get(metric));
    for (const [index, { metric, labels: asked, tests }] of selectors.entries()) {
      expect([...exported.keys()]).toContain(metric);
      expect([...(labels[index] ?? [])]).toEqual(expect.arrayContaining(asked));
      for (const [label = '', pattern = ''] of tests) {
        if (pattern.startsWith('$')) continue; // a variable of the dashboard
        for (const word of pattern.split('|')) expect(WORDS[label]).toContain(word);
      }
    }
    for (const label of groupedBy(expr)) {
      expect(labels.every((known) => known?.has(label))).toBe(true);
    }
  });
});

const ALERTED_ONLY = ['spillway_settings_lost'];

describe('the dashboard', () => {
  const { panels, templating } = readDashboard();

  it('shows every metric, but for those that are 0 unless an alert goes off', () => {
    const familiesIn = (queries: readonly { readonly expr: string }[]): string[] =>
      queries.flatMap(({ expr }) => selectorsIn(expr)).map(({ metric }) => familyOf(metric));
    expect(familiesIn(alertRules())).toEqual(expect.arrayContaining(ALERTED_ONLY));
    const families = new Set([...exported.keys()].map(familyOf));
    expect(new Set([...familiesIn(dashboardQueries()), ...ALERTED_ONLY])).toEqual(families);
  });

  it('has panels that say what they show and lie beside each other', () => {
    const drawn = panels.filter(({ type }) => type !== 'row');
    expect(drawn.filter(({ description = '' }) => description.length < 20)).toEqual([]);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)} ${y + Math.floor(cell / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });

  it('uses only variables that it has', () => {
    const own = templating.list.map(({ name }) => name);
    const used = [
      ...dashboardQueries().map(({ expr }) => expr),
      ...templating.list.map(({ definition = '' }) => definition),
    ].flatMap((text) => [...text.matchAll(/\$(\w+)/g)].map(([, name = '']) => name));
    expect(own).toEqual(expect.arrayContaining(used.filter((name) => !name.startsWith('__'))));
  });
});

describe('each alert', () => {
  it('has a test in which it goes off, and one in which it does not', () => {
    const cases = ALERT_TESTS.flatMap(
      (file) => (parse(readFileSync(file, 'utf8')) as AlertTests).tests,
    ).flatMap(({ alert_rule_test }) => alert_rule_test);
    for (const { alert } of alertRules()) {
      const own = cases.filter(({ alertname }) => alertname === alert);
      const fires = own.map(({ exp_alerts }) => exp_alerts.length > 0);
      expect(new Set(fires), alert).toEqual(new Set([true, false]));
    }
  });

  it('has a severity, a name of ours, a summary and what to do', () => {
    for (const { alert, labels, annotations } of alertRules()) {
      expect(alert).toMatch(/^Spillway[A-Z]\w+$/);
      expect(['page', 'ticket', 'info']).toContain(labels['severity']);
      expect(Object.keys(annotations)).toEqual(['summary', 'description', 'runbook_url']);
    }
  });

  it('links to its own part of the page for three in the morning, and that page has no other', () => {
    const page = readFileSync(join(ROOT, 'docs', '3am.md'), 'utf8');
    const parts = [...page.matchAll(/^## (Spillway\w+)$/gm)].map(([, name = '']) => name);
    expect(parts.sort()).toEqual(
      alertRules()
        .map(({ alert }) => alert)
        .sort(),
    );
    for (const { alert, annotations } of alertRules()) {
      expect(annotations['runbook_url']).toBe(`${RUNBOOK}#${alert.toLowerCase()}`);
    }
  });
});

const program = findTool('promtool');

describe.skipIf(program === null)('promtool', () => {
  it.each(RULES)('finds the alerts well formed: %s', (file) => {
    const { ok, said } = ask(program, 'check', 'rules', file);
    expect(said).toContain(`SUCCESS: ${alertRules([file]).length} rules found`);
    expect(ok).toBe(true);
  });

  it.each(ALERT_TESTS)('sees each alert go off when it must, and only then: %s', (file) => {
    const { ok, said } = ask(program, 'test', 'rules', file);
    expect(said).toContain('SUCCESS');
    expect(ok).toBe(true);
  });

  it('understands the queries of the dashboard', () => {
    const dir = mkdtempSync(join(tmpdir(), 'spillway-queries-'));
    const rules = dashboardQueries().map(({ expr }, index) => ({
      record: `query:${index}`,
      expr: expr.replaceAll('$__rate_interval', '5m').replaceAll(/\$\w+/g, '.*'),
    }));
    writeFileSync(join(dir, 'queries.yml'), stringify({ groups: [{ name: 'all', rules }] }));
    const { ok, said } = ask(program, 'check', 'rules', join(dir, 'queries.yml'));
    rmSync(dir, { recursive: true });
    expect(said).toContain(`SUCCESS: ${rules.length} rules found`);
    expect(ok).toBe(true);
  });
});

/** A histogram is one metric in several series. */
function familyOf(metric: string): string {
  return metric.replace(/_(bucket|sum|count)$/, '');
}
