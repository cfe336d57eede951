/** The Grafana dashboard of `docs/`: its queries are valid, and ask for what `/metrics` has. */
import { readFile } from 'node:fs/promises';
import type { SyntaxNodeRef } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';
import { describe, expect, it } from 'vitest';
import { testService } from '../../../test/service.ts';
import { Connections } from '../../wire/connections.ts';
import { measureProcess } from './metrics.ts';

const { service, address } = await testService();
// `serve` measures the connections of its port, and its process.
new Connections({ total: 1 }).measure(service.metrics.registry);
measureProcess(service.metrics.registry);
const file = new URL('../../../docs/grafana-dashboard.json', import.meta.url);
const dashboard: Dashboard = JSON.parse(await readFile(file, 'utf8'));
const queries = dashboard.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })));
const labels = await labelsOfSeries();

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
  readonly templating: { readonly list: readonly { readonly query: string }[] };
}

describe('the Grafana dashboard', () => {
  it('has queries', () => {
    expect(queries.length).toBeGreaterThan(20);
  });

  it.each(queries)('$title: $expr', ({ expr }) => {
    expect(problemsOf(expr)).toEqual([]);
  });

  it('finds the jobs of Prometheus by a series that exists', () => {
    const [, series = ''] = /^label_values\((\w+), job\)$/.exec(dashboard.templating.list[1]?.query ?? '') ?? [];
    expect([...labels.keys()]).toContain(series);
  });
});

describe('a wrong query', () => {
  it.each([
    ['sum(rate(requests_total{job="$job"}[5m]))', 'requests_total does not exist'],
    [
      'rate(http_server_request_duration_seconds{job="$job"}[5m])',
      'http_server_request_duration_seconds does not exist',
    ],
    ['sum by (path) (requests_in_progress{job="$job"})', 'no series has the label path'],
    ['connections_open{job="$job", kind="idle"}', 'no series has the label kind'],
    ['sum(requests_in_progress', 'syntax error at 24'],
    ['requests_in_progress', 'requests_in_progress is not limited to the job'],
  ])('%s is detected', (expr, problem) => {
    expect(problemsOf(expr)).toContain(problem);
  });
});

function problemsOf(expr: string): string[] {
  // Grafana replaces the variable by a duration.
  const query = expr.replaceAll('$__rate_interval', '1m');
  const text = ({ from, to }: SyntaxNodeRef) => query.slice(from, to);
  const problems: string[] = [];
  const found = { series: [] as string[], labels: [] as string[] };
  parser.parse(query).iterate({
    enter(node) {
      if (node.type.isError) problems.push(`syntax error at ${node.from}`);
      if (node.name === 'VectorSelector') {
        const name = node.node.getChild('Identifier');
        if (name !== null) found.series.push(text(name));
        if (!text(node).includes('job="$job"')) problems.push(`${text(node)} is not limited to the job`);
      }
      if (node.name === 'LabelName') found.labels.push(text(node));
    },
  });
  for (const name of found.series) if (!labels.has(name)) problems.push(`${name} does not exist`);
  const known = new Set(['job', 'instance', 'le', ...found.series.flatMap((name) => labels.get(name) ?? [])]);
  // `label_replace` adds the label that it names.
  for (const [, name = ''] of query.matchAll(/label_replace\(.*?, "(\w+)", "/g)) known.add(name);
  for (const name of found.labels) if (!known.has(name)) problems.push(`no series has the label ${name}`);
  return problems;
}

/** The labels of each series of `/metrics`, as Prometheus stores them: it renames those that it has itself. */
async function labelsOfSeries(): Promise<Map<string, readonly string[]>> {
  const served = await (await fetch(`${address}/metrics`)).text();
  const types = new Map([...served.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = '', type = '']) => [name, type]));
  const series = new Map<string, readonly string[]>();
  for (const metric of service.metrics.registry.getMetricsAsArray()) {
    const type = types.get(metric.name);
    if (type === undefined) continue;
    const own: readonly string[] = 'labelNames' in metric && Array.isArray(metric.labelNames) ? metric.labelNames : [];
    const stored = own.map((label) => (label === 'job' || label === 'instance' ? `exported_${label}` : label));
    const endings = type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
    for (const ending of endings) series.set(metric.name + ending, stored);
  }
  return series;
}
