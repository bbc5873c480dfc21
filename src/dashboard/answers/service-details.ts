// Everything about one Service or import that its row does not say.
import { messageOf } from '../../api/error-message.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { toYaml } from '../../api/schema/write-yaml.ts';
import type { ExplainedAnswer } from '../../dns/inspect.ts';
import { parseQuestion } from '../../dns/inspect.ts';
import { inspectObjects } from '../../proxy/inspect.ts';
import type { ClusterSource } from '../options.ts';
import type { ClusterFeed } from '../server/cluster-feed.ts';
import type { RightsIn } from '../server/board.ts';
import type { Details, Path } from '../view/details.ts';
import type { ImportRow, ServiceRow } from '../view/rows.ts';
import { balancerPlan } from './balancer-plans.ts';
import type { ClusterSet } from './cluster-set.ts';
import { conditionRows } from './conditions.ts';
import { connectionPath } from './connection-path.ts';

export interface DetailsOptions {
  readonly feed: ClusterFeed;
  readonly source: ClusterSource;
  readonly set: ClusterSet;
  readonly rightsIn: RightsIn;
}

/** The details of a row. */
export async function detailsOf(row: ServiceRow | ImportRow, options: DetailsOptions): Promise<Details> {
  const { feed, rightsIn } = options;
  const key = `${row.namespace}/${row.name}`;
  const rights = rightsIn(row.cluster, row.namespace);
  const service = row.kind === 'service' ? feed.service(key) : undefined;
  const exports = rights.serviceexports && row.kind === 'service' ? feed.exportsOf(key) : [];
  const imports = rights.serviceimports && row.kind === 'import' ? feed.importsOf(key) : [];
  const slices = rights.endpointslices ? feed.slicesOf(key, row.kind) : [];
  const objects: readonly ApiObject[] = [service, ...exports, ...imports, ...slices].filter(
    (each) => each !== undefined,
  );
  return {
    paths: await pathsOf(row, options),
    conditions: [
      ...conditionRows('Service', service?.status.conditions),
      ...exports.flatMap((each) => conditionRows(`${each.kind} of ${each.apiVersion}`, each.status?.conditions)),
      ...imports.flatMap((each) => conditionRows(`${each.kind} of ${each.apiVersion}`, conditionsIn(each))),
    ],
    events: rights.events ? feed.eventsOf(key).toReversed() : [],
    srv: srvNames(row, options.source),
    yaml: objects.map((object) => ({
      title: `${object.kind ?? 'object'} ${object.metadata.name ?? ''}`,
      text: toYaml(object),
    })),
    ...(service?.spec.type === 'LoadBalancer' ? { plan: balancerPlan(service) } : {}),
  };
}

const conditionsIn = (object: ReturnType<ClusterFeed['importsOf']>[number]) =>
  'status' in object && object.status !== undefined && 'conditions' in object.status
    ? object.status.conditions
    : undefined;

/** The names of a row, by zone. */
function namesOf({ kind, namespace, name }: ServiceRow | ImportRow, { dns }: ClusterSource): readonly string[] {
  const { clusterDomain, superclusterDomain, clustersetDomain } = dns.zones;
  const zones = kind === 'service' ? [clusterDomain] : [superclusterDomain, clustersetDomain];
  return zones.flatMap((zone) => (zone === undefined ? [] : [`${name}.${namespace}.svc.${zone}`]));
}

const srvNames = (row: ServiceRow | ImportRow, source: ClusterSource): Details['srv'] =>
  namesOf(row, source).flatMap((name) =>
    row.ports.flatMap(({ srv, port }) => (srv === undefined ? [] : [{ name: `${srv}.${name}`, port }])),
  );

async function pathsOf(row: ServiceRow | ImportRow, options: DetailsOptions): Promise<readonly Path[]> {
  const { feed, source, rightsIn } = options;
  const key = `${row.namespace}/${row.name}`;
  const { services, ...objects } = feed.routedObjects(key);
  // Services of other namespaces that claim its addresses are named only to those who may read them.
  const visible = services.filter(({ metadata: { namespace = '' } }) => rightsIn(row.cluster, namespace).services);
  const inspection = rightsIn(row.cluster, row.namespace).endpointslices
    ? inspectObjects({ ...objects, services: visible, node: undefined, machineAddresses: [] }, source.proxy, {
        namespace: row.namespace,
      })
    : undefined;
  return Promise.all(
    namesOf(row, source).map(async (name) => {
      const answers = await resolved(row, name, options).catch(messageOf);
      const path = connectionPath({ name, row, service: feed.service(key), answers, inspection });
      return path;
    }),
  );
}

function resolved(
  row: ServiceRow | ImportRow,
  name: string,
  { set, feed }: DetailsOptions,
): Promise<readonly ExplainedAnswer[]> {
  const isAlias = row.kind === 'service' && row.type === 'ExternalName';
  const types = isAlias ? ['CNAME'] : row.addresses.some((address) => address.includes(':')) ? ['A', 'AAAA'] : ['A'];
  return set.query(
    row.cluster,
    types.map((type) => parseQuestion({ name, type })),
    feed.lost,
  );
}
