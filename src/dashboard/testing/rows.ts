// Rows for tests.
import type { ClusterRow, ImportRow, ServiceRow } from '../view/rows.ts';
import { clusterId, importId, serviceId } from '../view/ids.ts';

export function clusterRow(cluster: string, rest: Partial<ClusterRow> = {}): ClusterRow {
  return { kind: 'cluster', id: clusterId(cluster), cluster, state: 'ok', server: '', findings: [], ...rest };
}

/** A Service with two ready endpoints. `key` is `namespace/name`. */
export function serviceRowOf(cluster: string, key: string, rest: Partial<ServiceRow> = {}): ServiceRow {
  const [namespace = '', name = ''] = key.split('/');
  return {
    kind: 'service',
    id: serviceId(cluster, key),
    cluster,
    namespace,
    name,
    type: 'ClusterIP',
    labels: {},
    addresses: ['10.0.0.1'],
    external: [],
    published: [],
    ports: [],
    endpoints: { ready: 2, notReady: 0, terminating: 0 },
    findings: [],
    ...rest,
  };
}

/** An import with one ready endpoint in each source. */
export function importRowOf(
  cluster: string,
  key: string,
  sources: readonly string[],
  rest: Partial<ImportRow> = {},
): ImportRow {
  const [namespace = '', name = ''] = key.split('/');
  return {
    kind: 'import',
    id: importId(cluster, key),
    cluster,
    namespace,
    name,
    isHeadless: false,
    addresses: ['10.1.0.1'],
    published: [],
    ports: [],
    sources: sources.map((source) => ({ cluster: source, ready: 1, notReady: 0, terminating: 0 })),
    findings: [],
    ...rest,
  };
}
