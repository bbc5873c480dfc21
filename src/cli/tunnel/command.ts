import { once } from 'node:events';
import { isIP } from 'node:net';
import { join as joinPath } from 'node:path';
import { readFile } from 'node:fs/promises';

import { isLoopback } from '../../api/addresses.ts';
import { fileErrorOf } from '../../api/error-message.ts';
import { clusterIdErrors } from '../../api/kinds/multicluster/cluster-id.ts';
import { systemClock } from '../../client/clock.ts';
import { setInterval } from '../../machine/timers.ts';
import { makePrivateDirectory, readPair, writePair } from '../../server/pki/files.ts';
import type { KeyPair } from '../../server/pki/issue.ts';
import type { HubTls } from '../../tunnel/hub.ts';
import type { Action, Command } from '../command.ts';
import { FatalError, UsageError } from '../errors.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { grouped, readFlag, textOf } from '../options/flags.ts';
import { listOf, parseListenAddress, parsePort } from '../options/values.ts';
import { logFlags, readLogOptions } from '../process/log.ts';
import { longRunning } from '../process/long-running.ts';
import { listenForStop } from '../process/signals.ts';

const tlsFlags: readonly Flag[] = grouped('Certificates', [
  { name: 'tls-cert-file', value: 'FILE', description: 'certificate of this end, PEM' },
  { name: 'tls-private-key-file', value: 'FILE', description: 'key of the certificate, PEM' },
  { name: 'ca-file', value: 'FILE', description: 'authority that signs the certificate of the other end, PEM' },
]);

/** How often the hub reads its certificates again, for sessions that begin later. */
const renewMs = 60_000;

async function readTls(settings: Settings): Promise<HubTls> {
  const read = async (flag: string): Promise<string> => {
    const path = textOf(settings, flag);
    if (path === undefined)
      throw new UsageError(`--${flag} is missing: \`fairlead tunnel certificates\` writes the files`);
    return readFile(path, 'utf8').catch((error: unknown) => {
      throw new FatalError(`cannot read --${flag} ${path}: ${fileErrorOf(error)}`, { cause: error });
    });
  };
  const [cert, key, ca] = await Promise.all(['tls-cert-file', 'tls-private-key-file', 'ca-file'].map(read));
  return { cert: cert ?? '', key: key ?? '', ca: ca ?? '' };
}

/** Reads `hub.example.org:9443`, `192.0.2.1:9443` or `[2001:db8::1]:9443`. */
function parsePlace(text: string): { readonly host: string; readonly port: number } {
  const [, host = '', port = ''] = /^\[?([^\][/@\s]+?)\]?:(\d+)$/.exec(text) ?? [];
  if (host === '') throw new UsageError('expected a name or an address, and a port, such as hub.example.org:9443');
  return { host, port: parsePort(port) };
}

function parseClusterId(text: string): string {
  const [problem] = clusterIdErrors(text);
  if (problem !== undefined) throw new UsageError(problem);
  return text;
}

const serve: Action = {
  summary: 'accept the connections of clusters, and offer their API servers through a proxy',
  description:
    'Accept the connections of clusters that cannot be dialled, and offer their API servers through an HTTP proxy on loopback. The host ' +
    'of a request to the proxy is the name of the cluster, which is the common name of its client certificate.',
  notes:
    'A kubeconfig reaches such a cluster with `server: https://CLUSTER`, `proxy-url: http://127.0.0.1:9444` and `tls-server-name: ' +
    'kubernetes.default.svc`. All clients of this machine can use the proxy: it gives no rights, and TLS is end to end.',
  examples: [
    'fairlead tunnel serve --tls-cert-file hub.crt --tls-private-key-file hub.key --ca-file ca.crt',
    'kubectl --kubeconfig east.kubeconfig get nodes     # with proxy-url: http://127.0.0.1:9444',
  ],
  flags: [
    { name: 'listen', value: 'ADDR:PORT', description: 'address for clusters', default: '0.0.0.0:9443' },
    {
      name: 'proxy-listen',
      value: 'ADDR:PORT',
      description: 'loopback address of the proxy',
      default: '127.0.0.1:9444',
    },
    { name: 'clusters', value: 'ID,…', description: 'clusters that may connect', default: 'all with a certificate' },
    ...tlsFlags,
    ...logFlags('info'),
  ],
  async run({ settings, streams }) {
    const listen = readFlag(settings, 'listen', parseListenAddress, { host: '0.0.0.0', port: 9443 });
    const proxyListen = readFlag(settings, 'proxy-listen', parseListenAddress, { host: '127.0.0.1', port: 9444 });
    if (proxyListen.host !== 'localhost' && !isLoopback(proxyListen.host)) {
      throw new UsageError(
        '--proxy-listen must be a loopback address: run the clients beside it, in Kubernetes in one Pod',
      );
    }
    const clusters = readFlag(settings, 'clusters', listOf(parseClusterId), undefined);
    const tls = await readTls(settings);
    const [{ Hub }, { tunnelProxy }] = await Promise.all([
      import('../../tunnel/hub.ts'),
      import('../../tunnel/proxy.ts'),
    ]);
    using stop = listenForStop(process, (code) => process.exit(code));
    using running = await longRunning(readLogOptions(settings, 'info'));
    const { log } = running;
    await using hub = new Hub({ tls, clusters, log });
    const port = await hub.listen(listen.host, listen.port);
    const proxy = tunnelProxy(hub).listen(proxyListen.port, proxyListen.host);
    await once(proxy, 'listening');
    const address = proxy.address();
    const proxyPort = typeof address === 'object' && address !== null ? address.port : proxyListen.port;
    streams.out(`hub ${listen.host}:${port}\nproxy-url http://${proxyListen.host}:${proxyPort}\n`);
    const renewal = setInterval(() => {
      readTls(settings).then(
        (next) => hub.renew(next),
        (error: unknown) => log.error({ err: error }, 'certificates not read again, the previous ones stay'),
      );
    }, renewMs);
    if (!stop.requested.aborted) await once(stop.requested, 'abort');
    clearInterval(renewal);
    proxy.closeAllConnections();
    proxy.close();
    return 0;
  },
};

const connect: Action = {
  usage: 'HUB:PORT',
  summary: 'connect this cluster to a hub, and its connections to the API server',
  description:
    'Open a connection to a hub and keep it open. Connections that the hub opens over it go to one address, the API server of this ' +
    'cluster; nothing of the hub can be reached from here. Several replicas, and several hubs, can run at once.',
  examples: ['fairlead tunnel connect hub:9443 --tls-cert-file a.crt --tls-private-key-file a.key --ca-file ca'],
  flags: [
    {
      name: 'server',
      value: 'HOST:PORT',
      description: 'API server to offer',
      default: '$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT, in a Pod its own',
    },
    { name: 'hub-name', value: 'NAME', description: 'name in the certificate of the hub', default: 'the host of HUB' },
    ...tlsFlags,
    ...logFlags('info'),
  ],
  async run({ args: [target = ''], settings }) {
    const hub = parsePlace(target);
    const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '' } = process.env;
    const own = host === '' || port === '' ? undefined : { host, port: Number(port) };
    const server = readFlag(settings, 'server', parsePlace, own);
    if (server === undefined) throw new UsageError('--server is missing: outside a Pod the API server is not known');
    await readTls(settings); // a missing file is an error at the start
    const { runTunnel } = await import('../../tunnel/connect.ts');
    using stop = listenForStop(process, (code) => process.exit(code));
    using running = await longRunning(readLogOptions(settings, 'info'));
    const hubName = textOf(settings, 'hub-name');
    const tls = (): Promise<HubTls> => readTls(settings);
    await runTunnel({ hub, hubName, tls, server, log: running.log, clock: systemClock }, stop.requested);
    return 0;
  },
};

const validityDays = 365;

const certificates: Action = {
  usage: 'DIR',
  summary: 'write an authority, and certificates of a hub and of clusters',
  description:
    'Write certificates into DIR: ca.crt and ca.key, hub.crt and hub.key for --hub, and CLUSTER.crt and CLUSTER.key for each --cluster. ' +
    'An authority in DIR is used again. Certificates are valid for a year; run it again to renew them.',
  notes: 'ca.key signs the identity of every cluster: keep it away from the hub and from the clusters.',
  examples: ['fairlead tunnel certificates tunnel-pki --hub hub.example.org --cluster east --cluster west'],
  flags: [
    { name: 'hub', value: 'NAME', description: 'names and addresses of the hub', repeatable: true },
    { name: 'cluster', value: 'ID', description: 'cluster to write a certificate for', repeatable: true },
  ],
  async run({ args: [directory = ''], settings, streams }) {
    const hubNames = settings.get('hub') ?? [];
    const clusters = (settings.get('cluster') ?? []).map(parseClusterId);
    if (hubNames.length === 0 && clusters.length === 0) throw new UsageError('pass --hub NAME, --cluster ID, or both');
    const { issue, issueCa } = await import('../../server/pki/issue.ts');
    const now = new Date();
    await makePrivateDirectory(directory);
    const ca =
      (await readPair(directory, 'ca')) ?? (await issueCa('fairlead-tunnel', { now, days: 10 * validityDays }));
    const made = new Map<string, KeyPair>([['ca', ca]]);
    const validity = { now, days: validityDays };
    const [commonName] = hubNames;
    if (commonName !== undefined) {
      const names = {
        dns: hubNames.filter((name) => isIP(name) === 0),
        ips: hubNames.filter((name) => isIP(name) > 0),
      };
      made.set('hub', await issue(ca, { use: 'server', commonName, names }, validity));
    }
    for (const cluster of clusters) {
      made.set(cluster, await issue(ca, { use: 'client', commonName: cluster, groups: [] }, validity));
    }
    for (const [name, pair] of made) await writePair(directory, name, pair);
    streams.out([...made.keys()].map((name) => `${joinPath(directory, name)}.crt\n`).join(''));
    return 0;
  },
};

export const command: Command = {
  description: 'Reach the API servers of clusters behind NAT or a firewall, which open the connection themselves.',
  examples: ['fairlead tunnel certificates tunnel-pki --hub hub.example.org --cluster east'],
  flags: [],
  actions: { serve, connect, certificates },
};
