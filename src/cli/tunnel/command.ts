import { once } from 'node:events';
import { isIP } from 'node:net';

import { isLoopback } from '../../api/addresses.ts';
import { systemClock } from '../../client/clock.ts';
import { setInterval } from '../../machine/timers.ts';
import type { Subject } from '../../server/pki/issue.ts';
import type { HubTls } from '../../tunnel/hub.ts';
import type { Action, Command } from '../command.ts';
import { UsageError } from '../errors.ts';
import type { Settings } from '../options/flags.ts';
import { readFlag, textOf } from '../options/flags.ts';
import { readTls as readFiles, tlsFlags } from '../options/tls-files.ts';
import { listOf, parseClusterId, parseHostPort, parseListenAddress } from '../options/values.ts';
import { logFlags, readLogOptions } from '../process/log.ts';
import { longRunning } from '../process/long-running.ts';
import { listenForStop } from '../process/signals.ts';

/** How often the hub reads its certificates again, for sessions that begin later. */
const renewMs = 60_000;

const readTls = (settings: Settings): Promise<HubTls> => readFiles(settings, 'fairlead tunnel certificates');

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
    const hub = parseHostPort(target);
    const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '' } = process.env;
    const own = host === '' || port === '' ? undefined : { host, port: Number(port) };
    const server = readFlag(settings, 'server', parseHostPort, own);
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

const certificates: Action = {
  usage: 'DIR',
  summary: 'write an authority, and certificates of a hub and of clusters',
  description:
    'Write certificates into DIR: ca.crt and ca.key, hub.crt and hub.key for --hub, and CLUSTER.crt and CLUSTER.key for each --cluster. ' +
    'An authority that is in DIR already signs them. Certificates are valid for a year; run the command again to renew them.',
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
    const { writeCertificates } = await import('../../server/pki/set-authority.ts');
    const subjects = new Map<string, Subject>();
    const [commonName] = hubNames;
    if (commonName !== undefined) {
      const names = {
        dns: hubNames.filter((name) => isIP(name) === 0),
        ips: hubNames.filter((name) => isIP(name) > 0),
      };
      subjects.set('hub', { use: 'server', commonName, names });
    }
    for (const cluster of clusters) subjects.set(cluster, { use: 'client', commonName: cluster, groups: [] });
    const paths = await writeCertificates(directory, 'fairlead-tunnel', subjects);
    streams.out(paths.map((path) => `${path}\n`).join(''));
    return 0;
  },
};

export const command: Command = {
  description: 'Reach the API servers of clusters behind NAT or a firewall, which open the connection themselves.',
  examples: ['fairlead tunnel certificates tunnel-pki --hub hub.example.org --cluster east'],
  flags: [],
  actions: { serve, connect, certificates },
};
