// Checks the dashboards and alerts in deploy/monitoring against the metrics of a running cluster.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { load } from 'js-yaml';

import { run } from './harness/command.ts';
import { temporaryDirectory } from './harness/fairlead.ts';
import { unlessInstalled } from './harness/needs.ts';
import { root } from './harness/process.ts';
import { dashboardFiles } from './docs/dashboards.ts';
import type { Metric } from './docs/metrics.ts';
import { readMetrics } from './docs/metrics.ts';

const rulesPath = join(root, 'deploy/monitoring/rules.yaml');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

const { groups } = load(readFileSync(rulesPath, 'utf8')) as { readonly groups: readonly { rules: readonly Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

/** Title of a panel or alert → its expression. */
const queries: ReadonlyMap<string, string> = new Map([
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
  ...Array.from(dashboardFiles).flatMap(([path, text]) =>
    (JSON.parse(text) as DashboardFile).panels.flatMap(({ title, targets }) =>
      targets.map(({ expr }, index) => [`${path}: ${title} ${index}`, expr] as const),
    ),
  ),
]);

interface DashboardFile {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[];
}

/** Labels that Prometheus adds to every sample, and to buckets. */
const targetLabels = ['job', 'instance', 'le'];
const ofHistogram = /_(?:bucket|sum|count)$/;
const token = /"[^"]*"|\[[^\]]*\]|[A-Za-z_]\w*|[\d.]+|[{}()]|[^\s\w"[\]{}()]+/g;
const isWord = (text = ''): boolean => /^[A-Za-z_]/.test(text);

interface UsedMetric {
  readonly name: string;
  /** Labels that are matched. */
  readonly labels: readonly string[];
  /** The function that is applied to it. */
  readonly call: string;
}

/** The metrics that an expression reads, and the labels that it groups by. */
function parse(expr: string): { readonly metrics: readonly UsedMetric[]; readonly grouped: readonly string[] } {
  const tokens: readonly string[] = expr.match(token) ?? [];
  const metrics: UsedMetric[] = [];
  const grouped: string[] = [];
  const wordsUntil = (closing: string, start: number): readonly [words: readonly string[], end: number] => {
    const end = tokens.indexOf(closing, start);
    return [tokens.slice(start, end).filter(isWord), end];
  };
  for (let at = 0; at < tokens.length; at++) {
    const [word = '', next] = [tokens[at], tokens[at + 1]];
    if (word === 'by') {
      const [labels, end] = wordsUntil(')', at);
      grouped.push(...labels.slice(1));
      at = end;
    } else if (isWord(word) && next !== '(' && next !== 'by') {
      const [labels, end] = next === '{' ? wordsUntil('}', at + 1) : [[], at];
      metrics.push({ name: word, labels, call: tokens[at - 1] === '(' ? (tokens[at - 2] ?? '') : '' });
      at = end;
    }
  }
  return { metrics, grouped };
}

describe('dashboards and alerts', () => {
  let metrics: ReadonlyMap<string, Metric>;
  before(async () => {
    metrics = new Map((await readMetrics()).map((metric) => [metric.name, metric]));
  });

  test('the parser finds metrics and labels', () => {
    const expr = 'sum by (job, code) (rate(a_total{b=~"5..", c!="x"}[5m])) / sum(d_e{f="g"}) + time() > 0.1';
    assert.deepEqual(parse(expr), {
      metrics: [
        { name: 'a_total', labels: ['b', 'c'], call: 'rate' },
        { name: 'd_e', labels: ['f'], call: 'sum' },
      ],
      grouped: ['job', 'code'],
    });
  });

  for (const [shown, expr] of queries) {
    test(`${shown} reads metrics and labels that exist`, () => {
      const { metrics: used, grouped } = parse(expr);
      assert.ok(used.length > 0, expr);
      const all = new Set(targetLabels);
      for (const { name, labels, call } of used) {
        if (name === 'up') continue; // a metric of Prometheus itself
        const isSeries = !metrics.has(name) && ofHistogram.test(name);
        const metric = metrics.get(isSeries ? name.replace(ofHistogram, '') : name);
        assert.ok(metric, `${name} is not a metric`);
        assert.equal(isSeries, metric.type === 'histogram', `${name} is a ${metric.type}`);
        assert.equal(/^(?:rate|increase)$/.test(call), metric.type !== 'gauge', `${name} is a ${metric.type}`);
        const own = new Set([...targetLabels, ...metric.labels]);
        for (const label of labels) assert.ok(own.has(label), `${name} has no label ${label}`);
        for (const label of own) all.add(label);
      }
      for (const label of grouped) assert.ok(all.has(label), `no label ${label} in ${expr}`);
    });
  }

  test('every component has a dashboard and alerts', () => {
    const parts = ['components', 'server', 'dns', 'proxy', 'controllers', 'loadbalancer', 'multicluster', 'publisher'];
    assert.deepEqual(
      Array.from(dashboardFiles.keys(), (path) => /(\w+)\.json$/.exec(path)?.[1]),
      parts,
    );
    for (const { alert, labels, annotations } of rules) {
      assert.match(labels['severity'] ?? '', /^(?:warning|critical)$/, alert);
      assert.ok(annotations['summary'] && annotations['description'], alert);
    }
  });

  test('Prometheus accepts all expressions', { skip: unlessInstalled('promtool') }, async () => {
    await using directory = await temporaryDirectory();
    const recorded = Array.from(queries.values(), (expr, index) => ({
      record: `query_${index}`,
      expr: expr.replaceAll('$__rate_interval', '5m'),
    }));
    const path = join(directory.path, 'queries.yaml');
    writeFileSync(path, JSON.stringify({ groups: [{ name: 'queries', rules: recorded }] }));
    const { code, out, err } = await run('promtool', ['check', 'rules', rulesPath, path]);
    assert.equal(code, 0, `${out}${err}`);
  });
});
