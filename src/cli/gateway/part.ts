import { isIP } from 'node:net';

import { peerPort } from '../../api/kinds/multicluster/gateway.ts';
import type { GatewayOptions } from '../../gateway/gateway.ts';
import type { Subject } from '../../server/pki/issue.ts';
import { UsageError } from '../errors.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { readFlag } from '../options/flags.ts';
import { readTls, tlsFlags } from '../options/tls-files.ts';
import { listOf, parseAddress, parseClusterId, parseHostPort, parseListenAddress } from '../options/values.ts';
import type { LoadPart, Part } from '../part/part.ts';

const flags: readonly Flag[] = [
  {
    name: 'listen',
    value: 'ADDR:PORT',
    description: 'address for gateways of other clusters',
    default: `0.0.0.0:${peerPort.number}`,
  },
  {
    name: 'address',
    value: 'IP',
    description: 'address of this replica in its cluster, where clients connect',
    default: '$POD_IP',
  },
  {
    name: 'relay',
    value: 'HOST:PORT,…',
    description: 'gateways of other clusters that relay connections to this one, for a gateway that they cannot dial',
    default: 'none',
  },
  ...tlsFlags,
];

/** `fairlead gateway`: connects Services of clusters whose networks cannot be routed. */
export const part: Part = {
  name: 'gateway',
  description:
    'Connect Services of this cluster with other clusters of its set over mutual TLS, where Pod addresses cannot be routed. Clusters ' +
    'whose ClusterMember has addressMode gateway are reached by their gateways, from the gateways of the other clusters.',
  examples: [
    'fairlead gateway certificates set-pki --cluster east --cluster west',
    'fairlead gateway --tls-cert-file a.crt --tls-private-key-file a.key --ca-file ca.crt   # in a Pod',
    'fairlead gateway --config gateway.yaml --relay gateway.example.org:9443     # behind NAT',
  ],
  health: 10_364,
  flags,
  actions: {
    certificates: {
      usage: 'DIR',
      summary: 'write an authority, and certificates of the gateways of clusters',
      description:
        'Write certificates into DIR: ca.crt and ca.key, and CLUSTER.crt and CLUSTER.key for each --cluster. An authority that is in DIR already ' +
        'signs them. Certificates are valid for a year; run the command again to renew them.',
      notes: 'ca.key signs the identity of every cluster of the set: keep it away from the gateways.',
      examples: ['fairlead gateway certificates set-pki --cluster east --cluster west'],
      flags: [{ name: 'cluster', value: 'ID', description: 'cluster to write a certificate for', repeatable: true }],
      isOffline: true,
      async run({ args: [directory = ''], settings, streams }) {
        const clusters = (settings.get('cluster') ?? []).map(parseClusterId);
        if (clusters.length === 0) throw new UsageError('pass --cluster ID');
        const { writeCertificates } = await import('../../server/pki/set-authority.ts');
        const subjects = new Map(
          clusters.map((cluster): [string, Subject] => [cluster, { use: 'peer', commonName: cluster }]),
        );
        const paths = await writeCertificates(directory, 'fairlead-gateways', subjects);
        streams.out(paths.map((path) => `${path}\n`).join(''));
        return 0;
      },
    },
  },
  alone: (settings) => load(readOptions(settings)),
  inUp: ({ settings = new Map() }) => load(readOptions(settings)),
};

const load =
  (options: GatewayOptions): LoadPart =>
  async () => {
    await options.tls(); // a missing file is an error at the start
    const { startGateway } = await import('../../gateway/gateway.ts');
    return (context) => startGateway(context, options);
  };

function readOptions(settings: Settings): GatewayOptions {
  const { POD_IP: podIp = '' } = process.env;
  const address = readFlag(settings, 'address', parseAddress, isIP(podIp) === 0 ? undefined : podIp);
  if (address === undefined)
    throw new UsageError('--address is missing: the address of this replica where clients of its cluster connect');
  return {
    listen: readFlag(settings, 'listen', parseListenAddress, { host: '0.0.0.0', port: peerPort.number }),
    address,
    relays: readFlag(settings, 'relay', listOf(parseHostPort), []),
    tls: () => readTls(settings, 'fairlead gateway certificates'),
  };
}
