// The initial objects of every cluster.

import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import { endpointsKind } from '../../api/kinds/core/endpoints/kind.ts';
import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import { serviceCidrKind } from '../../api/kinds/networking/servicecidr/kind.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import { priorityClassKind, systemPriorityClasses } from '../../api/kinds/scheduling/priorityclass/kind.ts';
import type { Kind } from '../../api/kind.ts';

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

/** The server writes both, so the mirroring controller must not. */
function kubernetesEndpoints({ address, port }: BootstrapOptions): readonly InitialObject[] {
  const skipMirror = { 'endpointslice.kubernetes.io/skip-mirror': 'true' };
  const ports = [{ name: 'https', port, protocol: 'TCP' }];
  return [
    {
      kind: endpointsKind,
      namespace: 'default',
      isKept: true,
      content: {
        metadata: { name: 'kubernetes', labels: skipMirror },
        subsets: [{ addresses: [{ ip: address }], ports }],
      },
    },
    {
      kind: endpointSliceKind,
      namespace: 'default',
      isKept: true,
      content: {
        metadata: { name: 'kubernetes', labels: { 'kubernetes.io/service-name': 'kubernetes' } },
        addressType: address.includes(':') ? 'IPv6' : 'IPv4',
        endpoints: [{ addresses: [address], conditions: { ready: true } }],
        ports,
      },
    },
  ];
}
