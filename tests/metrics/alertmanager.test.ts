/** One outage is one page: what the inhibition that we ship for Alertmanager holds back. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ask, findTool } from './debian-tools.js';
import { alertRules, OPS } from './queries.js';

const CONFIG = join(OPS, 'alertmanager', 'spillway.yml');

type Labels = Readonly<Record<string, string>>;

interface Rule {
  readonly source_matchers: readonly string[];
  readonly target_matchers: readonly string[];
  readonly equal: readonly string[];
}

const { inhibit_rules: rules } = parse(readFileSync(CONFIG, 'utf8')) as {
  readonly inhibit_rules: readonly Rule[];
};

/**
 * Which of the alerts are sent, by Alertmanager's documented rule: an alert is held back by another one that matches
 * the source.
 */
function told(alerts: readonly Labels[]): Labels[] {
  const held = (target: Labels) =>
    rules.some(
      ({ source_matchers, target_matchers, equal }) =>
        target_matchers.every((matcher) => matches(target, matcher)) &&
        alerts.some(
          (source) =>
            source_matchers.every((matcher) => matches(source, matcher)) &&
            equal.every((label) => (source[label] ?? '') === (target[label] ?? '')),
        ),
    );
  return alerts.filter((alert) => !held(alert));
}

function matches(labels: Labels, matcher: string): boolean {
  const [, label = '', operator, value = ''] = /^(\w+)(=~?)"(.*)"$/.exec(matcher) ?? [];
  if (!operator) throw new Error(`not understood: ${matcher}`);
  const own = labels[label] ?? '';
  return operator === '=' ? own === value : new RegExp(`^(?:${value})$`).test(own);
}

describe('the inhibition', () => {
  const failing = ['a', 'b', 'c', 'd', 'e', 'f'].flatMap((limiter) =>
    ['SpillwayFailingOpen', 'SpillwayFailingOpenALittle', 'SpillwayFailingClosed'].map(
      (alertname): Labels => ({ alertname, job: 'api', limiter }),
    ),
  );
  const store: Labels = { alertname: 'SpillwayStoreNotAnswering', job: 'api' };

  it('leaves one alert of an outage with six limiters', () => {
    expect(told([store, ...failing])).toEqual([store]);
  });

  it('holds back nothing of another job, and nothing that is not about the store', () => {
    const others: Labels[] = [
      { alertname: 'SpillwayFailingOpen', job: 'another', limiter: 'a' },
      { alertname: 'SpillwayRejectingTooMuch', job: 'api', limiter: 'a' },
    ];
    expect(told([store, ...failing, ...others])).toEqual([store, ...others]);
  });

  it('tells of limiters that fail while the store is asked', () => {
    const pages = failing.filter(({ alertname }) => alertname !== 'SpillwayFailingOpenALittle');
    expect(told(failing)).toEqual(pages);
  });

  it('names alerts that exist', () => {
    const known = alertRules().map(({ alert }) => alert);
    const named = rules
      .flatMap(({ source_matchers, target_matchers }) => [...source_matchers, ...target_matchers])
      .flatMap((matcher) => /"(.+)"/.exec(matcher)?.[1]?.split('|') ?? [matcher]);
    expect(named.length).toBeGreaterThan(4);
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
  });
});

const program = findTool('amtool');

describe.skipIf(program === null)('amtool', () => {
  it('finds the configuration well formed', () => {
    const { ok, said } = ask(program, 'check-config', CONFIG);
    expect(said).toContain(`${rules.length} inhibit rules`);
    expect(ok).toBe(true);
  });

  it.each(['page', 'ticket', 'info'])('sends what is a %s to its own receiver', (severity) => {
    const route = ['config', 'routes', 'test', `--config.file=${CONFIG}`, `severity=${severity}`];
    expect(ask(program, ...route).said.split('\n')[0]).toBe(severity);
  });
});
