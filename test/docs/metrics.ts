// Generates the page of all metrics from /metrics of a running cluster.
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { Connection } from '../harness/connection.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { writeCertificates } from '../../src/server/pki/set-authority.ts';
import { root } from '../harness/process.ts';
import { credentialsIn } from '../harness/server.ts';

const page = join(root, 'docs', 'reference', 'metrics.md');
const [begin, end] = ['<!-- metrics:begin -->', '<!-- metrics:end -->'];

/** Heading → prefixes of the names of its metrics. The first match counts; metrics of Node are not listed. */
const groups: readonly (readonly [heading: string, start: RegExp])[] = [
  ['', /^(?:process|nodejs)_/],
  ['API server', /^(?:apiserver|etcd|kube_apiserver|kubernetes|fairlead_(?:store|storage|unsent))_/],
  ['DNS', /^(?:coredns|fairlead_dns)_/],
  ['Proxy', /^(?:kubeproxy|fairlead_proxy)_/],
  ['Controllers', /^endpoint_slice_/],
  ['Load balancers', /^(?:service_controller|fairlead_loadbalancer)_/],
  ['Multi-cluster controller', /^fairlead_multicluster_/],
  ['Reaper', /^fairlead_reaper_/],
  ['Gateway', /^fairlead_gateway_/],
  ['Publisher', /^(?:external_dns|fairlead_publisher)_/],
  ['Dashboard', /^fairlead_dashboard_/],
  ['Every component', /^(?:fairlead_part|fairlead_uncaught|fairlead_log|rest_client|workqueue|leader_election)_/],
  ['Other', /^/],
];

export interface Metric {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** The page with the metrics of a cluster of `fairlead up`; labels on the existing page are kept, because a run does not show all. */
export async function withMetrics(scraped?: string): Promise<string> {
  const text = readFileSync(page, 'utf8');
  const [before = ''] = text.split(begin);
  const [, after = ''] = text.split(end);
  const metrics = await readMetrics(scraped);
  const sections = Array.from(
    Map.groupBy(metrics, ({ name }) => groups.find(([, start]) => start.test(name))?.[0] ?? ''),
  );
  const order = groups.map(([heading]) => heading);
  const tables = sections
    .filter(([heading]) => heading !== '')
    .toSorted(([left], [right]) => order.indexOf(left) - order.indexOf(right))
    .map(([heading, members]) => `## ${heading}\n${table(members)}`);
  return `${before}${begin}\n${tables.join('\n\n')}\n${end}${after}`;
}

/** The metrics of a cluster of `fairlead up`, with the labels of this run and of the existing page. */
export async function readMetrics(scraped?: string): Promise<readonly Metric[]> {
  const known = new Map(
    Array.from(
      readFileSync(page, 'utf8').matchAll(/^\| `(\w+)` \| \w+ \| (.*?) \|/gm),
      ([, name = '', labels = '']) => [name, Array.from(labels.matchAll(/\w+/g), ([label]) => label)],
    ),
  );
  return parse(scraped ?? (await scrape()), known);
}

/** The page without its labels, of which a short run shows only some. */
export const withoutLabels = (text: string): string => text.replaceAll(/^(\| `\w+` \| \w+ \|).*?\|/gm, '$1');

async function scrape(): Promise<string> {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(await temporaryDirectory());
  // Publisher and gateway run only if they are configured; they have their metrics without a server, too.
  const config = join(path, 'config.yaml');
  await writeCertificates(path, 'set', new Map([['east', { use: 'peer', commonName: 'east' }]]));
  const gateway = { address: '127.0.0.1', listen: '127.0.0.1:0', 'ca-file': join(path, 'ca.crt') };
  const pair = { 'tls-cert-file': join(path, 'east.crt'), 'tls-private-key-file': join(path, 'east.key') };
  const publisher = { zone: ['example.org'], server: ['127.0.0.1:1'] };
  await writeFile(config, JSON.stringify({ publisher, gateway: { ...gateway, ...pair } }));
  const flags = ['--cluster', 'east', '--cluster', 'west', '--store', 'memory', '--config', config];
  stack.use(await startFairlead(path, ['up', ...flags]));
  using connection = new Connection(portOf(path), await credentialsIn(path, 'east'));
  const { body } = await connection.ask('GET', '/metrics');
  return String(body);
}

function portOf(directory: string): number {
  const { clusters } = JSON.parse(readFileSync(join(directory, 'state.json'), 'utf8')) as {
    readonly clusters: readonly { readonly server: string }[];
  };
  return Number(new URL(clusters[0]?.server ?? '').port);
}

function parse(text: string, known: ReadonlyMap<string, readonly string[]>): readonly Metric[] {
  const blocks = text.split(/^# HELP /m).slice(1);
  return blocks.map((block) => {
    const [, name = '', help = '', type = '', samples = ''] = /^(\w+) (.*)\n# TYPE \w+ (\w+)\n(.*)$/s.exec(block) ?? [];
    const seen = Array.from(samples.matchAll(/[{,](\w+)="/g), ([, label = '']) => label);
    const labels = new Set([...(known.get(name) ?? []), ...seen].filter((label) => label !== 'le'));
    return { name, type, help, labels: [...labels] };
  });
}

function table(metrics: readonly Metric[]): string {
  const rows = metrics.map(({ name, type, help, labels }) => {
    const shown = labels.map((label) => `\`${label}\``).join(', ');
    return `| \`${name}\` | ${type} | ${shown} | ${help.replace(/\.$/, '').replaceAll('|', '\\|')} |`;
  });
  return ['| metric | type | labels | |', '|---|---|---|---|', ...rows].join('\n');
}
