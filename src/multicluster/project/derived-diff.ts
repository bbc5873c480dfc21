// Compares derived Services: only fields that this controller sets, because the server defaults others.
import { isDeepStrictEqual } from 'node:util';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service, ServicePort } from '../../api/kinds/core/service/schema.ts';
import { isDeleting } from '../record.ts';
import type { Changes } from './changes.ts';
import { hasMetadata, noChanges, foreignObject, removal, withMetadata } from './changes.ts';
import { isOurs } from './labels.ts';

/** The writes from the actual to the desired derived Service. */
export function diffDerived(desired: Service | undefined, actual: Service | undefined): Changes {
  if (desired === undefined) {
    return actual === undefined || !isOurs(actual) ? noChanges : { ...noChanges, remove: removal(serviceKind, actual) };
  }
  if (actual === undefined) return { ...noChanges, add: [{ verb: 'create', kind: serviceKind, object: desired }] };
  if (!isOurs(actual)) return { ...noChanges, foreignObjects: [foreignObject(serviceKind, actual)] };
  if (isDeleting(actual) || (hasMetadata(actual, desired) && isSameSpec(actual, desired))) return noChanges;
  // The first family of a Service is immutable: delete it and create another.
  if (desired.spec.ipFamilies?.[0] !== actual.spec.ipFamilies?.[0]) {
    return { ...noChanges, add: removal(serviceKind, actual) };
  }
  const object = { ...actual, metadata: withMetadata(actual, desired), spec: changedSpec(actual, desired) };
  return { ...noChanges, add: [{ verb: 'update', kind: serviceKind, object }] };
}

const portsOf = (ports: readonly ServicePort[] = []): unknown =>
  ports.map(({ name = '', protocol = 'TCP', port, appProtocol = '' }) => [name, protocol, port, appProtocol]);

function isSameSpec({ spec: actual }: Service, { spec: desired }: Service): boolean {
  const { ports, ipFamilies, sessionAffinityConfig, sessionAffinity = 'None', ...fields } = desired;
  const hasAffinityConfig =
    sessionAffinityConfig === undefined || isDeepStrictEqual(actual.sessionAffinityConfig, sessionAffinityConfig);
  return (
    isDeepStrictEqual(portsOf(actual.ports), portsOf(ports)) &&
    actual.ipFamilies?.[0] === ipFamilies?.[0] &&
    (actual.sessionAffinity ?? 'None') === sessionAffinity &&
    hasAffinityConfig &&
    actual.selector === undefined &&
    (actual.internalTrafficPolicy ?? 'Cluster') === (fields.internalTrafficPolicy ?? 'Cluster') &&
    actual.trafficDistribution === fields.trafficDistribution &&
    actual.ipFamilyPolicy === fields.ipFamilyPolicy &&
    (actual.type ?? 'ClusterIP') === fields.type
  );
}

function changedSpec({ spec: actual }: Service, { spec: desired }: Service): Service['spec'] {
  const { clusterIP, clusterIPs = [], ipFamilies = [] } = actual;
  const isSingle = desired.ipFamilyPolicy === 'SingleStack';
  // Keep the addresses; a single-stack Service releases the second one.
  const { ipFamilies: wanted = [], ...rest } = desired;
  return {
    ...rest,
    ...(clusterIP === undefined ? {} : { clusterIP }),
    clusterIPs: isSingle ? clusterIPs.slice(0, 1) : clusterIPs,
    ipFamilies: isSingle ? wanted : ipFamilies,
  };
}
