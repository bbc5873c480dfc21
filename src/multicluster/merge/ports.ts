// Merges the ports of all clusters and finds their conflicts.
import { listText } from './conflict.ts';
import { fieldConflict } from './field-conflict.ts';
import type { Component, ComponentPort } from './component.ts';
import type { Conflict } from './conflict.ts';
import type { MergedPort } from './merged.ts';
import { mcsApis } from '../record.ts';

/** A port's identity is its protocol and number (MCS-160). */
const numberOf = ({ port, protocol }: ComponentPort): string => `${port}/${protocol}`;

const nameText = (name: string): string => (name === '' ? '""' : name);

/** Whether number, protocol and name are equal. */
export const isSamePort = (left: ComponentPort, right: ComponentPort): boolean =>
  left.name === right.name && numberOf(left) === numberOf(right);

/** Whether one valid Service can have both ports. */
export function areCompatible(left: ComponentPort, right: ComponentPort): boolean {
  if (left.name === right.name || numberOf(left) === numberOf(right)) return isSamePort(left, right);
  // With two or more ports, each needs a name.
  return left.name !== '' && right.name !== '';
}

/**
 * The union of all ports, each with the clusters that have it. Of two incompatible ports the one of the cluster with
 * the higher precedence is kept, so that the result is a valid Service and a port is routed only to clusters that have it.
 */
export function unionOfPorts(components: readonly Component[]): readonly MergedPort[] {
  const union: { readonly port: ComponentPort; readonly clusters: string[] }[] = [];
  for (const { cluster, ports } of components) {
    for (const port of ports) {
      const same = union.find((each) => isSamePort(each.port, port));
      if (same !== undefined) same.clusters.push(cluster);
      else if (union.every((each) => areCompatible(each.port, port))) union.push({ port, clusters: [cluster] });
    }
  }
  return union.map(({ port, clusters }) => ({ ...port, clusters }));
}

/** Whether one valid Service can have all ports of two clusters. */
export const havePortsCompatible = (left: Component, right: Component): boolean =>
  left.ports.every((port) => right.ports.every((other) => areCompatible(port, other)));

/** All conflicts over ports. */
export function portConflicts(components: readonly Component[]): readonly Conflict[] {
  const byName = Map.groupBy(
    components.flatMap(({ ports }) => ports),
    ({ name }) => name,
  );
  const byNumber = Map.groupBy(
    components.flatMap(({ ports }) => ports),
    numberOf,
  );
  const names = [...byName.keys()].toSorted();
  // Filters cheaply first: this runs on every change, and most services have no conflict.
  const isMixed = (
    ports: readonly ComponentPort[] = [],
    valueOf: (port: ComponentPort) => string | undefined,
  ): boolean => ports.some((port) => valueOf(port) !== valueOf(ports[0] ?? port));
  return [
    ...names.filter((name) => isMixed(byName.get(name), numberOf)).flatMap((name) => numberConflict(components, name)),
    ...[...byNumber.keys()]
      .filter((number) => isMixed(byNumber.get(number), ({ name }) => name))
      .toSorted()
      .flatMap((number) => nameConflict(components, number)),
    ...unnamedConflict(components, names),
    ...names.flatMap((name) => [
      ...(byName.get(name)?.length === components.length ? [] : absenceConflict(components, name)),
      ...details
        .filter((detail) => isMixed(byName.get(name), (port) => port[detail]))
        .flatMap((detail) => detailConflict(components, name, detail)),
    ]),
  ];
}

const details = ['appProtocol', 'srvServiceName'] as const;

const portNamed = ({ ports }: Component, wanted: string): ComponentPort | undefined =>
  ports.find(({ name }) => name === wanted);

/** MCS-126 */
function numberConflict(components: readonly Component[], name: string): readonly Conflict[] {
  const valueOf = (component: Component): string | undefined => {
    const port = portNamed(component, name);
    return port && numberOf(port);
  };
  return fieldConflict(components, {
    field: `spec.ports[${nameText(name)}]`,
    reason: 'PortConflict',
    rule: 'ports of one name must have the same number and protocol in all clusters',
    apis: mcsApis,
    valueOf,
    counts: (value) => value !== undefined,
    fixText: (value) => `change port ${nameText(name)} to ${value ?? ''}`,
  });
}

/** MCS-127 */
function nameConflict(components: readonly Component[], number: string): readonly Conflict[] {
  return fieldConflict(components, {
    field: `spec.ports[${number}].name`,
    reason: 'PortConflict',
    rule: 'a port number and protocol must have the same name in all clusters',
    apis: mcsApis,
    valueOf: ({ ports }) => ports.find((port) => numberOf(port) === number)?.name,
    counts: (value) => value !== undefined,
    fixText: (value) => `name port ${number} ${nameText(value ?? '')}`,
  });
}

/** The single port of one cluster has no name and other clusters have more ports: the union is not a valid Service. */
function unnamedConflict(components: readonly Component[], names: readonly string[]): readonly Conflict[] {
  if (!names.includes('') || names.length < 2) return [];
  const unnamed = components.filter((component) => portNamed(component, '') !== undefined);
  const clusters = unnamed.map(({ cluster }) => cluster);
  return fieldConflict(components, {
    field: 'spec.ports',
    reason: 'PortConflict',
    rule: 'ports must have names if the clusters have more than one port together',
    apis: mcsApis,
    valueOf: ({ ports }) => ports.map((port) => `${nameText(port.name)} ${numberOf(port)}`).join(', '),
    counts: (value) => value !== '',
    fixText: (value) => value,
  }).map((conflict) => ({
    ...conflict,
    // Naming the port is enough; the ports of the other clusters need not be copied.
    fix: { clusters, value: conflict.fix.value, text: `in ${listText(clusters)}: give the port a name` },
  }));
}

/** The union is served; the clusterset API also reports a conflict, the supercluster API does not (MCS-125). */
function absenceConflict(components: readonly Component[], name: string): readonly Conflict[] {
  const valueOf = (component: Component): string | undefined => {
    const port = portNamed(component, name);
    return port && numberOf(port);
  };
  if (components.every((component) => valueOf(component) !== undefined)) return [];
  const present = components.map(valueOf).find((value) => value !== undefined);
  return fieldConflict(components, {
    field: `spec.ports[${nameText(name)}]`,
    reason: 'PortConflict',
    rule: 'all clusters should have the same ports; a port leads only to the clusters that have it',
    apis: ['clusterset'],
    valueOf: (component) => (valueOf(component) === undefined ? undefined : present),
    prefersDefined: true,
    fixText: (value) => (value === undefined ? `remove port ${nameText(name)}` : `add port ${nameText(name)} ${value}`),
  });
}

function detailConflict(
  components: readonly Component[],
  name: string,
  detail: (typeof details)[number],
): readonly Conflict[] {
  const having = components.filter((component) => portNamed(component, name) !== undefined);
  return fieldConflict(having, {
    field: `spec.ports[${nameText(name)}].${detail}`,
    reason: 'PortConflict',
    rule: `a port must have the same ${detail} in all clusters`,
    apis: ['clusterset'],
    valueOf: (component) => portNamed(component, name)?.[detail],
    fixText: (value) =>
      value === undefined ? `remove ${detail} of port ${nameText(name)}` : `set ${detail} to ${value}`,
  });
}
