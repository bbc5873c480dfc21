// A set whose members are reached in three ways: one directly, one by its tunnel, and one by gateways.

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { load } from 'js-yaml';

import { run as runCommand } from '../../src/cli/run.ts';
import { run } from '../harness/command.ts';
import { temporaryDirectory } from '../harness/fairlead.ts';
import { FairleadProcess, root } from '../harness/process.ts';
import type { SetCluster } from '../multicluster/set.ts';
import { leaseMs, startPlaces } from '../multicluster/set.ts';

interface Kubeconfig {
  readonly clusters: readonly {
    readonly cluster: { server: string; 'proxy-url'?: string; 'tls-server-name'?: string };
  }[];
}

/** `east`: dialled, with Pods that others route to. `west`: the same, by a tunnel that it opens. `north`: dialled, reached by gateways. */
export interface MixedSet {
  readonly east: SetCluster;
  readonly west: SetCluster;
  readonly north: SetCluster;
  /** Runs `fairlead mcs` with the file of members, and returns what it prints. */
  mcs(...args: readonly string[]): Promise<string>;
}

/** Starts the clusters, the tunnel, a gateway in each cluster and the controller. */
export async function startMixedSet(stack: AsyncDisposableStack): Promise<MixedSet> {
  const places = ['east', 'west', 'north'].map((id) => ({ id, region: 'eu', zone: `eu-${id}` }));
  const { clusters } = await startPlaces(places, stack);
  const [east, west, north] = clusters;
  assert.ok(east && west && north);
  const directory = stack.use(await temporaryDirectory()).path;
  const start = (...args: readonly string[]): FairleadProcess => stack.use(new FairleadProcess(args));
  const call = async (...args: readonly string[]): Promise<string> => {
    const { code, out, err } = await run(process.execPath, [join(root, 'bin', 'fairlead.js'), ...args]);
    assert.equal(code, 0, `${out}${err}`);
    return out;
  };
  const [gatewayPki, tunnelPki] = [join(directory, 'gateways'), join(directory, 'tunnel')];
  const ids = clusters.flatMap(({ place }) => ['--cluster', place.id]);
  await call('gateway', 'certificates', gatewayPki, ...ids);
  await call('tunnel', 'certificates', tunnelPki, '--hub', '127.0.0.1', '--cluster', 'west');
  const files = (pki: string, name: string): readonly string[] => [
    `--tls-cert-file=${join(pki, `${name}.crt`)}`,
    `--tls-private-key-file=${join(pki, `${name}.key`)}`,
    `--ca-file=${join(pki, 'ca.crt')}`,
  ];

  const hub = start(
    'tunnel',
    'serve',
    '--listen=127.0.0.1:0',
    '--proxy-listen=127.0.0.1:0',
    ...files(tunnelPki, 'hub'),
  );
  await hub.prints(/proxy-url http\S+\n/);
  const [, place = '', proxyUrl = ''] = /^hub (\S+)\nproxy-url (\S+)/m.exec(hub.out) ?? [];
  const config = load(await readFile(west.kubeconfig, 'utf8')) as Kubeconfig; // written by this program
  const [{ cluster } = { cluster: { server: '' } }] = config.clusters;
  start('tunnel', 'connect', place, `--server=${new URL(cluster.server).host}`, ...files(tunnelPki, 'west'));
  Object.assign(cluster, { server: 'https://west', 'proxy-url': proxyUrl, 'tls-server-name': 'localhost' });
  const tunnelled = join(directory, 'west.kubeconfig');
  await writeFile(tunnelled, JSON.stringify(config), { mode: 0o600 });

  await Promise.all(
    clusters.map(async (each) => {
      await each.namespace('fairlead-system');
      const gateway = start(
        'gateway',
        `--address=${each.address(250)}`,
        `--listen=${each.address(250)}:9443`,
        `--kubeconfig=${each.kubeconfig}`,
        '--health-port=0',
        ...files(gatewayPki, each.place.id),
      );
      await gateway.ready();
    }),
  );
  const file = join(directory, 'members.yaml');
  const members = [east.member, { ...west.member, kubeconfig: tunnelled }, { ...north.member, addressMode: 'gateway' }];
  await writeFile(file, JSON.stringify({ members }));
  const controller = start(
    'multicluster',
    `--members=${file}`,
    `--kubeconfig=${east.kubeconfig}`,
    `--source-lease-duration=${leaseMs / 1000}s`,
    '--leader-elect=false',
    '--health-port=0',
  );
  await controller.ready();
  const mcs = async (...args: readonly string[]): Promise<string> => {
    const printed: string[] = [];
    const print = (text: string): void => void printed.push(text);
    const code = await runCommand(['mcs', ...args, '--members', file], { out: print, err: print });
    assert.equal(code, 0, printed.join(''));
    return printed.join('');
  };
  return { east, west, north, mcs };
}
