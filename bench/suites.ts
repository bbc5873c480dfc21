// All suites. Each returns a table, with peers if they are installed.

import { execFileSync } from 'node:child_process';

import { abuseTokens, measureAbuse } from './abuse.bench.ts';
import { measureAgent } from './agent.bench.ts';
import { measureApi } from './api.bench.ts';
import type { Result } from './api.bench.ts';
import { measureChurn, measureCreateList } from './churn.bench.ts';
import { measureControllers } from './controllers.bench.ts';
import { fairleadControllers, kubeControllerManager } from './controllers/programs.ts';
import { measureCrds } from './crds.bench.ts';
import { crowdFlags, crowdTokens, measureCrowd } from './crowd.bench.ts';
import { measureDashboard } from './dashboard.bench.ts';
import { measureDns } from './dns.bench.ts';
import { envtestFigures, measureEnvtest } from './envtest.bench.ts';
import { measureEtcd } from './etcd.bench.ts';
import { measureHostileBodies } from './hostile-bodies.bench.ts';
import { measureGateway } from './gateway.bench.ts';
import { startFairlead } from './fairlead.ts';
import { startKubeApiserver } from './kube-apiserver.ts';
import { measureLimit } from './limit.bench.ts';
import { measureLoadBalancers } from './loadbalancer.bench.ts';
import { measureCost, measureMulticluster } from './multicluster.bench.ts';
import { costNames, costsOf, rowsOf } from './multicluster/rows.ts';
import { measurePackage, packageFigures } from './package.bench.ts';
import type { Running } from './process.ts';
import { measureProxy } from './proxy.bench.ts';
import { median } from './quantile.ts';
import { measurePublisher } from './publisher.bench.ts';
import { externalDns, fairleadPublisher } from './publisher/programs.ts';
import { measureRules } from './proxy/in-namespace.ts';
import { measurePath } from './proxy/path.ts';
import { measureScale } from './scale.bench.ts';
import { measureWorkloads } from './workloads.bench.ts';
import { startOurs, startPeers } from '../test/workloads/programs.ts';
import { comparison, figures, show, table } from './table.ts';

type Progress = (text: string) => void;

/** A suite and the name that selects it. */
export interface Suite {
  readonly name: string;
  /** Resolves with a table in Markdown. */
  readonly run: (progress: Progress) => Promise<string>;
}

/** A program that a variable names, or that is on the PATH. */
function program(variable: string, name: string): string | undefined {
  const named = process.env[variable];
  if (named !== undefined) return named;
  try {
    return execFileSync('which', [name], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}

type Measure = (running: Running, progress: Progress) => Promise<Result[]>;

async function measured(running: Running, measure: Measure, progress: Progress): Promise<Result[]> {
  try {
    return await measure(running, (text) => progress(`${running.name}: ${text}`));
  } finally {
    await running.stop();
  }
}

interface Both {
  readonly ours: readonly Result[];
  /** Undefined if it is not installed. */
  readonly peer: readonly Result[] | undefined;
}

/** Measures Fairlead, then kube-apiserver with etcd. */
async function measureBoth(measure: Measure, progress: Progress): Promise<Both> {
  const [apiserver, etcd] = [program('KUBE_APISERVER', 'kube-apiserver'), program('ETCD', 'etcd')];
  const ours = await measured(await startFairlead(), measure, progress);
  if (apiserver === undefined || etcd === undefined) return { ours, peer: undefined };
  return { ours, peer: await measured(await startKubeApiserver({ apiserver, etcd }), measure, progress) };
}

const compared = ({ ours, peer }: Both): string => comparison(ours, peer, { peerName: 'kube-apiserver + etcd' });

async function runApi(progress: Progress): Promise<string> {
  // The first run fills the compile cache, like the first start of a user.
  await (await startFairlead()).stop();
  const { ours, peer } = await measureBoth(measureApi, progress);
  return compared({ ours: [...ours, ...(await measureLimit())], peer });
}

const runCrds = async (progress: Progress): Promise<string> => compared(await measureBoth(measureCrds, progress));

async function runChurn(progress: Progress): Promise<string> {
  const measure: Measure = async (running, report) => [
    ...(await measureChurn(running, report)),
    await measureCreateList(running, report),
  ];
  return compared(await measureBoth(measure, progress));
}

async function runEtcd(progress: Progress): Promise<string> {
  const etcd = program('ETCD', 'etcd');
  if (etcd === undefined) return 'etcd is not installed.';
  const apiserver = program('KUBE_APISERVER', 'kube-apiserver');
  const all = await measureEtcd({ etcd, apiserver }, progress);
  const names = new Set(all.flatMap(({ results }) => results.map(({ name }) => name)));
  const rows = [...names].map((name) => [
    name,
    ...all
      .map(({ results }) => results.filter((result) => result.name === name).map(show))
      .map((cells) => cells.join('')),
  ]);
  return table(['', ...all.map(({ name }) => name)], rows);
}

async function runScale(progress: Progress): Promise<string> {
  const sqlite = await measureScale(undefined, progress);
  const etcd = program('ETCD', 'etcd');
  return comparison(sqlite, etcd === undefined ? undefined : await measureScale(etcd, progress), {
    peerName: 'etcd',
    name: 'SQLite',
  });
}

async function runAbuse(progress: Progress): Promise<string> {
  const abused = await measured(await startFairlead(abuseTokens), measureAbuse, progress);
  return figures([
    ...abused,
    ...(await measured(await startFairlead(crowdTokens, crowdFlags), measureCrowd, progress)),
  ]);
}

async function runHostile(progress: Progress): Promise<string> {
  const running = await startFairlead();
  try {
    return await measureHostileBodies(running, progress);
  } finally {
    await running.stop();
  }
}

async function runControllers(progress: Progress): Promise<string> {
  const manager = program('KUBE_CONTROLLER_MANAGER', 'kube-controller-manager');
  const [ours, peer]: [Result[], Result[]] = [[], []];
  for (const services of controllerScales) {
    ours.push(...(await measureControllers(fairleadControllers, { services }, progress)));
    if (manager === undefined) continue;
    peer.push(...(await measureControllers(kubeControllerManager(manager), { services }, progress)));
  }
  return comparison(ours, manager === undefined ? undefined : peer, { peerName: 'kube-controller-manager' });
}

async function runWorkloads(progress: Progress): Promise<string> {
  const [manager, scheduler] = [
    program('KUBE_CONTROLLER_MANAGER', 'kube-controller-manager'),
    program('KUBE_SCHEDULER', 'kube-scheduler'),
  ];
  const ours = await measureWorkloads(
    { name: 'Fairlead', start: async ({ kubeconfig }) => startOurs(kubeconfig) },
    progress,
  );
  if (manager === undefined || scheduler === undefined) return comparison([...ours], undefined, { peerName: '' });
  const peer = {
    name: 'Kubernetes',
    start: (at: Parameters<typeof startPeers>[0]) => startPeers(at, { manager, scheduler }),
  };
  const theirs = await measureWorkloads(peer, progress);
  return comparison([...ours], [...theirs], { peerName: 'kube-controller-manager + kube-scheduler' });
}

/** Numbers of Services, or the value of SERVICES: the cost of a change must not grow with them. */
const scales = (standard: string): readonly number[] => (process.env['SERVICES'] ?? standard).split(',').map(Number);
const controllerScales = scales('1000,5000');
const publisherScales = scales('5000,40000');

async function runDns(progress: Progress): Promise<string> {
  const columns = ['', 'Services', 'answers/s', 'CPU µs each', 'p99 ms', 'p99 ms flooded', 'MB', 'seen after ms, p99'];
  const rows: (string | number)[][] = [];
  for (const services of [1000, 10_000]) {
    for (const result of await measureDns(services, progress)) {
      rows.push([
        result.server,
        services.toLocaleString('en'),
        Math.round(result.perSecond).toLocaleString('en'),
        result.cpuMicros.toFixed(1),
        result.p99Ms.toFixed(2),
        result.floodedP99Ms.toFixed(2),
        result.megabytes.toFixed(0),
        result.createdP99Ms?.toFixed(0) ?? '',
      ]);
    }
  }
  return table(columns, rows);
}

async function runLoadBalancers(progress: Progress): Promise<string> {
  const columns = ['', 'all ready, s', 'CPU ms each', 'CPU ms a change', 'writes for it', 'cloud calls for it', 'MB'];
  const rows: string[][] = [];
  for (const scale of balancedScales) {
    const cost = await measureLoadBalancers(scale, progress);
    rows.push([
      `${scale.services.toLocaleString('en')} Services, ${scale.cloud ?? 'addresses of a pool'}`,
      (cost.readyMs / 1000).toFixed(1),
      ...[cost.readyCpuMs, cost.changeCpuMs, cost.changeWrites, cost.changeCalls].map((value) => value.toFixed(2)),
      cost.megabytes.toFixed(0),
    ]);
  }
  return table(columns, rows);
}

/** Two sizes each: the cost of a change must not grow. */
const balancedScales = [
  { services: 1000 },
  { services: 5000 },
  { services: 200, cloud: 'azure' },
  { services: 1000, cloud: 'azure' },
];

async function runMulticluster(progress: Progress): Promise<string> {
  const standard = { services: 1000, endpoints: 100, perSecond: 100 };
  const aims = { changeP50: 250, changeP99: 1000, exportP99: 3000, restart: 10_000 };
  const three = await measureMulticluster({ ...standard, clusters: 3 }, progress);
  const ten = await measureMulticluster({ ...standard, clusters: 10 }, progress);
  const many = { clusters: 100, services: 5000, endpoints: 10, perSecond: 100, importers: 5 };
  const hundred = await measureMulticluster(many, progress);
  const costs: string[][] = [];
  for (const services of [100, 1000, 5000]) {
    const changes = await measureCost({ clusters: 3, services, endpoints: 10 }, progress);
    costs.push([services.toLocaleString('en'), ...costsOf(changes, 3), changes.writes.toFixed(2)]);
  }
  const columns = ['1,000 services, 100,000 endpoints', 'aim', '3 clusters', '10 clusters'];
  const costColumns = ['services of 10 endpoints, 3 clusters', ...costNames, 'writes for it'];
  const manyColumns = ['5,000 services of 10 endpoints', '100 clusters, 5 import each service'];
  return [
    table(columns, rowsOf([{ aims, measured: three }, { measured: ten }])),
    table(manyColumns, rowsOf([{ measured: hundred }])),
    table(costColumns, costs),
  ].join('\n\n');
}

async function runPublisher(progress: Progress): Promise<string> {
  const peer = program('EXTERNAL_DNS', 'external-dns');
  const [ours, theirs]: [Result[], Result[]] = [[], []];
  for (const services of publisherScales) {
    // ExternalDNS has no SRV records of load balancers, and needs minutes for many names.
    const isCompared = services <= 5000;
    const scale = { services, hasSrv: !isCompared };
    ours.push(...(await measurePublisher(fairleadPublisher, scale, progress)));
    if (isCompared && peer !== undefined) theirs.push(...(await measurePublisher(externalDns(peer), scale, progress)));
  }
  return comparison(ours, peer === undefined ? undefined : theirs, { peerName: 'ExternalDNS' });
}

async function runProxy(progress: Progress): Promise<string> {
  if (process.getuid?.() !== 0) return `Rules need root to be measured.\n\n${await runRelays(progress)}`;
  const kubeProxy = program('KUBE_PROXY', 'kube-proxy');
  const rules = await measureRules(kubeProxy, progress);
  const compared = comparison(rules['Fairlead'] ?? [], rules['kube-proxy'], { peerName: 'kube-proxy, nftables' });
  return [compared, await runPath(progress), await runRelays(progress)].join('\n\n');
}

async function runPath(progress: Progress): Promise<string> {
  const results = (await measurePath(progress)) ?? [];
  return table(
    ['from Pod to Pod', 'Gbit/s', 'connections/s, one at a time'],
    results.map(({ path, gigabitsPerSecond, connectionsPerSecond }) => [
      path,
      gigabitsPerSecond.toFixed(1),
      Math.round(connectionsPerSecond).toLocaleString('en'),
    ]),
  );
}

async function runRelays(progress: Progress): Promise<string> {
  const results = await measureProxy(program('HAPROXY', 'haproxy'), progress);
  const columns = ['userspace', 'CPU µs a connection', 'CPU µs a round trip', 'GB a CPU second'];
  return table(
    columns,
    results.map(({ relay, connectionMicros, roundTripMicros, gigabytesPerCpuSecond }) => [
      relay,
      ...[connectionMicros, roundTripMicros, gigabytesPerCpuSecond].map((value) => value.toFixed(1)),
    ]),
  );
}

const runDashboard = async (progress: Progress): Promise<string> =>
  figures(await measureDashboard({ clusters: 3, services: 5000, endpoints: 10 }, progress));

async function runPackage(progress: Progress): Promise<string> {
  const measured = await measurePackage(progress);
  const columns = ['', ...measured.keys()];
  const rows = packageFigures.map((name, index) => [
    name,
    ...Array.from(measured.values(), (medians) => Math.round(medians[index] ?? NaN)),
  ]);
  const [apiserver, etcd] = [program('KUBE_APISERVER', 'kube-apiserver'), program('ETCD', 'etcd')];
  if (apiserver === undefined || etcd === undefined) return table(columns, rows);
  const peers: number[] = [];
  for (let round = 0; round < 5; round++) {
    progress(`kube-apiserver, start ${round + 1} of 5`);
    const peer = await startKubeApiserver({ apiserver, etcd });
    peers.push(peer.coldStartMs);
    await peer.stop();
  }
  return `${table(columns, rows)}\n\netcd and kube-apiserver, which envtest starts: ${Math.round(median(peers))} ms.`;
}

async function runEnvtest(progress: Progress): Promise<string> {
  const [apiserver, etcd] = [program('KUBE_APISERVER', 'kube-apiserver'), program('ETCD', 'etcd')];
  const peer = apiserver === undefined || etcd === undefined ? undefined : { apiserver, etcd };
  const measured = await measureEnvtest(peer, progress);
  const rows = envtestFigures.map((name, index) => [
    name,
    ...Array.from(measured.values(), (medians) => Math.round(medians[index] ?? NaN)),
  ]);
  return table(['', ...measured.keys()], rows);
}

/** All suites in their order. */
export const suites: readonly Suite[] = [
  { name: 'api', run: runApi },
  { name: 'churn', run: runChurn },
  { name: 'crds', run: runCrds },
  { name: 'etcd', run: runEtcd },
  { name: 'scale', run: runScale },
  { name: 'abuse', run: runAbuse },
  { name: 'hostile', run: runHostile },
  { name: 'controllers', run: runControllers },
  { name: 'agent', run: async (progress) => figures(await measureAgent(progress)) },
  { name: 'workloads', run: runWorkloads },
  { name: 'dashboard', run: runDashboard },
  { name: 'dns', run: runDns },
  { name: 'loadbalancer', run: runLoadBalancers },
  { name: 'multicluster', run: runMulticluster },
  { name: 'proxy', run: runProxy },
  { name: 'gateway', run: (progress) => measureGateway(program('HAPROXY', 'haproxy'), progress) },
  { name: 'publisher', run: runPublisher },
  { name: 'package', run: runPackage },
  { name: 'envtest', run: runEnvtest },
];
