// The derived Service: the server fills in much of it, so only what was asked for is compared.
import { isDeepStrictEqual } from 'node:util';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service, ServicePort } from '../../api/kinds/core/service/schema.ts';
import { isDeleting } from '../record.ts';
import type { Changes } from './changes.ts';
import { hasMetadata, noChanges, obstacle, removal, withMetadata } from './changes.ts';
import { isOurs } from './marks.ts';

/** The writes between a derived Service as it is to be and as it is. */
export function diffDerived(desired: Service | undefined, actual: Service | undefined): Changes {
  if (desired === undefined) {
    return actual === undefined || !isOurs(actual) ? noChanges : { ...noChanges, remove: removal(serviceKind, actual) };
  }
  if (actual === undefined) return { ...noChanges, add: [{ verb: 'create', kind: serviceKind, object: desired }] };
  if (!isOurs(actual)) return { ...noChanges, obstacles: [obstacle(serviceKind, actual)] };
  if (isDeleting(actual) || (hasMetadata(actual, desired) && isSameSpec(actual, desired))) return noChanges;
  // The first family of a Service cannot be changed: it makes way for another.
  if (desired.spec.ipFamilies?.[0] !== actual.spec.ipFamilies?.[0]) {
    return { ...noChanges, add: removal(serviceKind, actual) };
  }
  const object = { ...actual, metadata: withMetadata(actual, desired), spec: changedSpec(actual, desired) };
  return { ...noChanges, add: [{ verb: 'update', kind: serviceKind, object }] };
}

const portsOf = (ports: readonly ServicePort[] = []): unknown =>
  ports.map(({ name = '', protocol = 'TCP', port, appProtocol = '' }) => [name, protocol, port, appProtocol]);

function isSameSpec({ spec: actual }: Service, { spec: desired }: Service): boolean {
  const { ports, ipFamilies, sessionAffinityConfig, sessionAffinity = 'None', ...asked } = desired;
  const hasAffinityConfig =
    sessionAffinityConfig === undefined || isDeepStrictEqual(actual.sessionAffinityConfig, sessionAffinityConfig);
  return (
    isDeepStrictEqual(portsOf(actual.ports), portsOf(ports)) &&
    actual.ipFamilies?.[0] === ipFamilies?.[0] &&
    (actual.sessionAffinity ?? 'None') === sessionAffinity &&
    hasAffinityConfig &&
    actual.selector === undefined &&
    (actual.internalTrafficPolicy ?? 'Cluster') === (asked.internalTrafficPolicy ?? 'Cluster') &&
    actual.trafficDistribution === asked.trafficDistribution &&
    actual.ipFamilyPolicy === asked.ipFamilyPolicy &&
    (actual.type ?? 'ClusterIP') === asked.type
  );
}

function changedSpec({ spec: actual }: Service, { spec: desired }: Service): Service['spec'] {
  const { clusterIP, clusterIPs = [], ipFamilies = [] } = actual;
  const isSingle = desired.ipFamilyPolicy === 'SingleStack';
  // The addresses stay; a Service that is to have one family gives the second back.
  const { ipFamilies: asked = [], ...rest } = desired;
  return {
    ...rest,
    ...(clusterIP === undefined ? {} : { clusterIP }),
    clusterIPs: isSingle ? clusterIPs.slice(0, 1) : clusterIPs,
    ipFamilies: isSingle ? asked : ipFamilies,
  };
}
