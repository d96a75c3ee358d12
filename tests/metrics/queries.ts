/** The queries of the dashboard and of the alerts, and the metrics and labels in them. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

export const ROOT: string = join(import.meta.dirname, '..', '..');
export const OPS: string = join(ROOT, 'ops');
/** The alerts on our own metrics, and the alerts on the metrics of redis_exporter. */
export const ALERTS: string = join(OPS, 'prometheus', 'alerts.yml');
export const REDIS_ALERTS: string = join(OPS, 'prometheus', 'redis.yml');

export interface Query {
  /** The panel, annotation or alert that has it. */
  readonly source: string;
  readonly expr: string;
}

export interface Alert extends Query {
  readonly alert: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>;
  readonly targets?: readonly { readonly expr: string }[];
  /** The panels of a collapsed row. */
  readonly panels?: readonly Panel[];
}

interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { name: string; definition?: string }[] };
  readonly annotations: { readonly list: readonly { name: string; expr: string }[] };
}

export function readDashboard(): Dashboard {
  return JSON.parse(readFileSync(join(OPS, 'grafana', 'spillway.json'), 'utf8')) as Dashboard;
}

export function dashboardQueries(): Query[] {
  const { panels, annotations } = readDashboard();
  const all = panels.flatMap((panel) => [panel, ...(panel.panels ?? [])]);
  const own = all.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ source: title, expr })),
  );
  return [...own, ...annotations.list.map(({ name, expr }) => ({ source: name, expr }))];
}

export function alertRules(files: readonly string[] = [ALERTS, REDIS_ALERTS]): Alert[] {
  return files.flatMap(rulesOf);
}

function rulesOf(path: string): Alert[] {
  const file = parse(readFileSync(path, 'utf8')) as {
    groups: { rules: Omit<Alert, 'source'>[] }[];
  };
  return file.groups.flatMap(({ rules }) => rules.map((rule) => ({ ...rule, source: rule.alert })));
}

/** Our metrics that a query names, with the labels that it selects by. */
export function selectorsIn(
  expr: string,
): { metric: string; labels: string[]; tests: string[][] }[] {
  return [...expr.matchAll(/\b(spillway_\w+)(?:\{([^}]*)\})?/g)].map(([, metric = '', within]) => {
    const pairs = [...(within ?? '').matchAll(/(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g)];
    return {
      metric,
      labels: pairs.map(([, label = '']) => label),
      tests: pairs.map(([, label = '', , value = '']) => [label, value]),
    };
  });
}

/** The labels that a query groups by. */
export function groupedBy(expr: string): string[] {
  return [...expr.matchAll(/\bby\s*\(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(',').map((label) => label.trim()),
  );
}
