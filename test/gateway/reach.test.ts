// Every cluster uses the Services of every other by their supercluster names: three clusters, two of them with the same Pod range behind NAT.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { load } from 'js-yaml';

import { until } from '../../src/server/testing/until.ts';
import { run } from '../harness/command.ts';
import { temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { unless, unlessInstalled } from '../harness/needs.ts';
import { FairleadProcess, root } from '../harness/process.ts';
import { whyNoNamespaces } from '../proxy/namespaces/cluster.ts';
import type { Namespace } from '../proxy/namespaces/namespace.ts';
import type { ClusterName, Networks } from './networks.ts';
import { apiPort, clusterNames, gatewayAddresses, podAddresses, startNetworks } from './networks.ts';

const launcher = join(root, 'bin', 'fairlead.js');
const tunnelPort = 9543;
const relays = gatewayAddresses.north.map((address) => `${address}:9443`).join();

interface Kubeconfig {
  readonly clusters: readonly {
    readonly cluster: { server: string; 'proxy-url'?: string; 'tls-server-name'?: string };
  }[];
}

/** Answers HTTP requests with a text. */
const backend = `require('http').createServer((_, r) => r.end(process.argv[3] + '\\n')).listen(8080, process.argv[2], () => console.log('listening'))`;

class Fleet {
  readonly #stack: AsyncDisposableStack;
  readonly #directory: string;
  readonly networks: Networks;

  constructor(stack: AsyncDisposableStack, directory: string, networks: Networks) {
    this.#stack = stack;
    this.#directory = directory;
    this.networks = networks;
  }

  path(...names: readonly string[]): string {
    return join(this.#directory, ...names);
  }

  space(cluster: ClusterName): Namespace {
    return this.networks[cluster];
  }

  /** Starts a command of Fairlead in the namespace of a cluster. */
  start(cluster: ClusterName, ...args: readonly string[]): FairleadProcess {
    return this.#stack.use(new FairleadProcess(args, { within: ['ip', 'netns', 'exec', this.space(cluster).name] }));
  }

  files(pki: string, name: string): readonly string[] {
    const file = (end: string): string => this.path(pki, `${name}.${end}`);
    return [
      `--tls-cert-file=${file('crt')}`,
      `--tls-private-key-file=${file('key')}`,
      `--ca-file=${this.path(pki, 'ca.crt')}`,
    ];
  }

  gateway(cluster: ClusterName, replica: number): FairleadProcess {
    const address = gatewayAddresses[cluster][replica] ?? '';
    return this.start(
      cluster,
      'gateway',
      `--address=${address}`,
      `--listen=${address}:9443`,
      '--health-port=0',
      `--kubeconfig=${this.path(`${cluster}-gateway.kubeconfig`)}`,
      ...this.files('set-pki', cluster),
      ...(cluster === 'north' ? [] : [`--relay=${relays}`]),
    );
  }

  controller(): FairleadProcess {
    return this.start(
      'north',
      'multicluster',
      `--members=${this.path('members.yaml')}`,
      `--kubeconfig=${this.path('north', 'kubeconfig')}`,
      '--leader-elect-lease-duration=4s',
      '--leader-elect-renew-deadline=3s',
      '--leader-elect-retry-period=500ms',
      '--health-port=0',
    );
  }

  async pod(cluster: ClusterName, address: string, text: string): Promise<void> {
    const [file, ...words] = this.space(cluster).within(process.execPath);
    const child = spawn(file, [...words, '-e', backend, 'pod', address, text], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#stack.defer(async () => {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    });
    await once(child.stdout, 'data');
  }

  /** Runs curl with the name of a service; '' if it fails. */
  curl(from: ClusterName, to: ClusterName): string {
    const name = `http://web-${to}.default.svc.supercluster.local/`;
    const [file, ...words] = this.space(from).within('curl');
    return spawnSync(file, [...words, '-s', '--max-time', '5', name], { encoding: 'utf8' }).stdout.trim();
  }

  /** Every cluster reaches every other one, itself included. */
  async allReach(what: string, texts: Readonly<Record<ClusterName, string>>): Promise<void> {
    for (const from of clusterNames)
      for (const to of clusterNames)
        await until(`${what}: ${from} reaches ${to}`, () => this.curl(from, to) === texts[to]);
  }
}

const objects = (cluster: ClusterName): readonly object[] => {
  const metadata = { name: `web-${cluster}`, namespace: 'default' };
  return [
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports: [{ name: 'http', port: 80 }] } },
    slice(cluster, podAddresses[0]),
    { apiVersion: 'multicluster.k8s.io/v1alpha1', kind: 'ServiceExport', metadata },
  ];
};

const slice = (cluster: ClusterName, address: string): object => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: {
    name: `web-${cluster}-1`,
    namespace: 'default',
    labels: { 'kubernetes.io/service-name': `web-${cluster}` },
  },
  addressType: 'IPv4',
  ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  endpoints: [{ addresses: [address], conditions: { ready: true } }],
});

test(
  'clusters with one Pod range behind NAT use the Services of each other, also after any gateway or controller was killed',
  { skip: unless(whyNoNamespaces()) || unlessInstalled('curl'), timeout: 600_000 },
  async () => {
    await using stack = new AsyncDisposableStack();
    const directory = stack.use(await temporaryDirectory()).path;
    const fleet = new Fleet(stack, directory, stack.use(await startNetworks(directory)));
    const [kubectl] = await findKubectls();
    const call = async (...args: readonly string[]): Promise<string> => {
      const { code, out, err } = await run(process.execPath, [launcher, ...args]);
      assert.equal(code, 0, err);
      return out;
    };
    const apply = async (cluster: ClusterName, manifests: readonly object[] | string): Promise<void> => {
      const file = typeof manifests === 'string' ? manifests : fleet.path(`${cluster}.json`);
      if (typeof manifests !== 'string')
        await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests }));
      const { status, stderr } = spawnSync(
        'ip',
        [
          'netns',
          'exec',
          fleet.space(cluster).name,
          kubectl?.path ?? '',
          '--kubeconfig',
          fleet.path(cluster, 'kubeconfig'),
          'apply',
          '--server-side',
          '--force-conflicts',
          '-f',
          file,
        ],
        { encoding: 'utf8' },
      );
      assert.equal(status, 0, stderr);
    };

    await call(
      'gateway',
      'certificates',
      fleet.path('set-pki'),
      ...clusterNames.flatMap((name) => ['--cluster', name]),
    );
    await call(
      'tunnel',
      'certificates',
      fleet.path('tunnel-pki'),
      '--hub',
      '192.0.2.30',
      '--cluster',
      'east',
      '--cluster',
      'west',
    );
    const parts = [
      '--parts',
      'server,controllers,dns,proxy,reaper',
      '--store',
      'memory',
      '--port-base',
      String(apiPort),
    ];
    await Promise.all(
      clusterNames.map(async (name) => {
        await fleet.pod(name, podAddresses[0], name);
        await fleet.start(name, 'up', '--cluster', name, '--data-dir', fleet.path(name), ...parts).ready();
        await call(
          'user',
          'add',
          'gateway',
          '--part',
          '--data-dir',
          fleet.path(name),
          '-o',
          fleet.path(`${name}-gateway.kubeconfig`),
        );
        await apply(name, join(root, 'examples/rbac/gateway.yaml'));
        await apply(name, objects(name));
      }),
    );

    const hub = fleet.start(
      'north',
      'tunnel',
      'serve',
      `--listen=192.0.2.30:${tunnelPort}`,
      ...fleet.files('tunnel-pki', 'hub'),
    );
    await hub.prints(/proxy-url/);
    for (const name of ['east', 'west'] as const) {
      fleet.start(
        name,
        'tunnel',
        'connect',
        `192.0.2.30:${tunnelPort}`,
        `--server=127.0.0.1:${apiPort}`,
        ...fleet.files('tunnel-pki', name),
      );
      const config = load(await readFile(fleet.path(name, 'kubeconfig'), 'utf8')) as Kubeconfig; // written by this program
      Object.assign(config.clusters[0]?.cluster ?? {}, {
        server: `https://${name}`,
        'proxy-url': 'http://127.0.0.1:9444',
        'tls-server-name': 'localhost',
      });
      await writeFile(fleet.path(`${name}-member.kubeconfig`), JSON.stringify(config), { mode: 0o600 });
    }
    const members = clusterNames.map((id) => ({
      id,
      kubeconfig: id === 'north' ? fleet.path('north', 'kubeconfig') : fleet.path(`${id}-member.kubeconfig`),
      superclusterCIDRs: ['127.128.0.0/16'],
      addressMode: 'gateway',
      ...(id === 'north' ? {} : { addresses: gatewayAddresses.north }),
    }));
    await writeFile(fleet.path('members.yaml'), JSON.stringify({ members }));

    const gateways = new Map<string, FairleadProcess>();
    for (const name of clusterNames)
      for (const replica of [0, 1]) gateways.set(`${name} ${replica}`, fleet.gateway(name, replica));
    const controllers = [fleet.controller(), fleet.controller()];

    const texts = { east: 'east', west: 'west', north: 'north' };
    await fleet.allReach('at the start', texts);

    for (const from of clusterNames) {
      for (const to of clusterNames.filter((each) => each !== from)) {
        const { out } = await run('ip', [
          'netns',
          'exec',
          fleet.space('north').name,
          process.execPath,
          launcher,
          'mcs',
          'why',
          `default/web-${to}`,
          '--from',
          from,
          '--members',
          fleet.path('members.yaml'),
        ]);
        assert.match(out, new RegExp(`its address is 127\\.128\\.`), out);
        const own = gatewayAddresses[from].map((address) => `${address}:2\\d{4}`).join(' and ');
        const remote = gatewayAddresses.north.map((address) => `${address}:9443`).join(' and ');
        assert.match(
          out,
          new RegExp(
            `${to} is reached by its gateways at ${remote}, from gateways at ${own} \\(address mode gateway\\)`,
          ),
        );
      }
    }

    for (const name of clusterNames) {
      for (const replica of [0, 1]) {
        await gateways.get(`${name} ${replica}`)?.stop('SIGKILL');
        await fleet.allReach(`without replica ${replica} of ${name}`, texts);
        const next = fleet.gateway(name, replica);
        gateways.set(`${name} ${replica}`, next);
        await next.ready();
      }
    }

    const [first, second] = controllers;
    await first?.stop('SIGKILL');
    await fleet.allReach('without one controller', texts);
    const [, moved] = podAddresses;
    await fleet.pod('east', moved, 'east moved');
    await apply('east', [slice('east', moved)]);
    await fleet.allReach('after a change that the other controller writes', { ...texts, east: 'east moved' });

    await second?.stop('SIGKILL');
    await fleet.allReach('without a controller', { ...texts, east: 'east moved' });
    fleet.controller();
    await apply('east', [slice('east', podAddresses[0])]);
    await fleet.allReach('with a new controller', texts);
  },
);
