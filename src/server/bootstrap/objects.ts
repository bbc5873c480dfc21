// The initial objects of every cluster.

import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import { endpointsKind } from '../../api/kinds/core/endpoints/kind.ts';
import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import { serviceCidrKind } from '../../api/kinds/networking/servicecidr/kind.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import { priorityClassKind, systemPriorityClasses } from '../../api/kinds/scheduling/priorityclass/kind.ts';
import type { Kind } from '../../api/kind.ts';
import { compareText } from '../../api/order.ts';

/** An object to create if it does not exist. */
export interface InitialObject {
  readonly kind: Kind;
  readonly namespace: string;
  readonly content: Readonly<Record<string, unknown>>;
  /** Whether its content is restored; without it, an existing object is left unchanged. */
  readonly isKept?: true;
}

/** The name of the ServiceCIDR for `--service-cluster-ip-range`. */
export const serviceCidrName = 'kubernetes';

const initialNamespaces = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];

export interface BootstrapOptions {
  readonly serviceCidrs: readonly string[];
  /** The first usable address of the primary range. */
  readonly firstServiceIp: string;
  /** The advertised address of this server. */
  readonly address: string;
  readonly port: number;
  /** All servers that run; default: this one. */
  readonly servers?: readonly ServerAddress[];
}

/** The advertised address of a server. */
export interface ServerAddress {
  readonly address: string;
  readonly port: number;
}

/** The initial objects, in the order of creation. */
export function initialObjects(options: BootstrapOptions): readonly InitialObject[] {
  return [
    ...initialNamespaces.map((name) => ({ kind: namespaceKind, namespace: '', content: { metadata: { name } } })),
    {
      kind: serviceCidrKind,
      namespace: '',
      content: { metadata: { name: serviceCidrName }, spec: { cidrs: options.serviceCidrs } },
    },
    ...systemPriorityClasses.map((content) => ({ kind: priorityClassKind, namespace: '', content })),
    { kind: serviceKind, namespace: 'default', content: kubernetesService(options) },
    ...kubernetesEndpoints(options),
  ];
}

const kubernetesService = ({ firstServiceIp, port }: BootstrapOptions): Record<string, unknown> => ({
  metadata: { name: 'kubernetes', labels: { component: 'apiserver', provider: 'kubernetes' } },
  spec: {
    clusterIP: firstServiceIp,
    ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: port }],
    sessionAffinity: 'None',
    type: 'ClusterIP',
  },
});

/** The server writes both kinds, so the mirroring controller must not. One port usually serves for all servers. */
function kubernetesEndpoints({
  address,
  port,
  servers = [{ address, port }],
}: BootstrapOptions): readonly InitialObject[] {
  const skipMirror = { 'endpointslice.kubernetes.io/skip-mirror': 'true' };
  const groups = [...Map.groupBy(servers.toSorted(byAddress), (server) => `${typeOf(server)} ${server.port}`).values()];
  const portsOf = (group: readonly ServerAddress[]): unknown => [
    { name: 'https', port: group[0]?.port, protocol: 'TCP' },
  ];
  return [
    {
      kind: endpointsKind,
      namespace: 'default',
      isKept: true,
      content: {
        metadata: { name: 'kubernetes', labels: skipMirror },
        subsets: groups.map((group) => ({
          addresses: group.map(({ address: ip }) => ({ ip })),
          ports: portsOf(group),
        })),
      },
    },
    ...groups.map((group, index) => ({
      kind: endpointSliceKind,
      namespace: 'default',
      isKept: true as const,
      content: {
        metadata: {
          name: index === 0 ? kubernetesName : `${kubernetesName}-${index}`,
          labels: { 'kubernetes.io/service-name': kubernetesName },
        },
        addressType: group[0] === undefined ? 'IPv4' : typeOf(group[0]),
        endpoints: group.map((server) => ({ addresses: [server.address], conditions: { ready: true } })),
        ports: portsOf(group),
      },
    })),
  ];
}

/** The name of the Service of the API servers. */
export const kubernetesName = 'kubernetes';

const typeOf = ({ address }: ServerAddress): string => (address.includes(':') ? 'IPv6' : 'IPv4');

const byAddress = (a: ServerAddress, b: ServerAddress): number => a.port - b.port || compareText(a.address, b.address);
