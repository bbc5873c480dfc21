import { ageColumn, column, labelsText, nameColumn } from '../../../columns.ts';
import type { Column } from '../../../kind.ts';
import type { Service } from './schema.ts';

/** The addresses at which a Service is reached from outside. */
function externalIpText({ spec, status }: Service): string {
  const { externalIPs = [] } = spec;
  switch (spec.type) {
    case 'ExternalName':
      return spec.externalName ?? '';
    case 'LoadBalancer': {
      const entries = (status.loadBalancer.ingress ?? []).map(({ ip, hostname }) => ip || hostname || '');
      const found = [...new Set(entries)].filter((entry) => entry !== '').sort();
      return [...found, ...externalIPs].join(',') || '<pending>';
    }
    case 'ClusterIP':
    case 'NodePort':
      return externalIPs.join(',') || '<none>';
    case undefined:
      return '<unknown>';
  }
  // A word that only an old or foreign store can hold.
  return '<unknown>';
}

/** The ports of a Service: `80/TCP`, with the node port between them when there is one. */
function portsText({ spec: { ports = [] } }: Service): string {
  const texts = ports.map(({ port, nodePort = 0, protocol = '' }) =>
    nodePort === 0 ? `${port}/${protocol}` : `${port}:${nodePort}/${protocol}`,
  );
  return texts.join(',') || '<none>';
}

/** What `kubectl get services` shows. */
export const columns: readonly Column<Service>[] = [
  nameColumn,
  column<Service>('Type', 'How the Service is exposed.', ({ spec }) => spec.type ?? ''),
  column<Service>('Cluster-IP', 'The primary virtual address.', ({ spec }) => spec.clusterIPs?.[0] ?? '<none>'),
  column<Service>('External-IP', 'Where the Service is reached from outside.', externalIpText),
  column<Service>('Port(s)', 'The ports, with node ports where there are any.', portsText),
  ageColumn,
  column<Service>('Selector', 'The labels of the Pods behind the Service.', ({ spec }) => labelsText(spec.selector), {
    wide: true,
  }),
];
