// Which ports a merged service has, and where clusters disagree about them.
import { listText } from './conflict-text.ts';
import { disagreement } from './disagreement.ts';
import type { Component, ComponentPort } from './component.ts';
import type { Conflict } from './conflict.ts';
import type { MergedPort } from './merged.ts';

/** A port's identity is its protocol and number (MCS-160). */
const numberOf = ({ port, protocol }: ComponentPort): string => `${port}/${protocol}`;

const nameText = (name: string): string => (name === '' ? '""' : name);

/** Whether two ports are one: number, protocol and name. */
export const isSamePort = (left: ComponentPort, right: ComponentPort): boolean =>
  left.name === right.name && numberOf(left) === numberOf(right);

/** Whether two ports can stand in one Service. */
export function canStandTogether(left: ComponentPort, right: ComponentPort): boolean {
  if (left.name === right.name || numberOf(left) === numberOf(right)) return isSamePort(left, right);
  // As soon as there are two ports each must have a name.
  return left.name !== '' && right.name !== '';
}

/**
 * The ports of all, each with the clusters that have it. Of two that cannot stand together the one of the cluster that
 * comes first is taken, so that the result is a valid Service and a port leads only to clusters that really have it.
 */
export function unionOfPorts(components: readonly Component[]): readonly MergedPort[] {
  const union: { readonly port: ComponentPort; readonly clusters: string[] }[] = [];
  for (const { cluster, ports } of components) {
    for (const port of ports) {
      const same = union.find((each) => isSamePort(each.port, port));
      if (same !== undefined) same.clusters.push(cluster);
      else if (union.every((each) => canStandTogether(each.port, port))) union.push({ port, clusters: [cluster] });
    }
  }
  return union.map(({ port, clusters }) => ({ ...port, clusters }));
}

/** Whether all ports of two clusters can stand in one Service. */
export const havePortsInCommon = (left: Component, right: Component): boolean =>
  left.ports.every((port) => right.ports.every((other) => canStandTogether(port, other)));

/** Everything about ports in which clusters disagree. */
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
  // Only what can be in conflict is looked at closely: mostly nothing is, and this runs with every change.
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
  return disagreement(components, {
    field: `spec.ports[${nameText(name)}]`,
    reason: 'PortConflict',
    rule: 'a port of one name has one number and protocol in all clusters',
    shapes: ['seed', 'current'],
    valueOf,
    isOpinion: (value) => value !== undefined,
    remedy: (value) => `change port ${nameText(name)} to ${value ?? ''}`,
  });
}

/** MCS-127 */
function nameConflict(components: readonly Component[], number: string): readonly Conflict[] {
  return disagreement(components, {
    field: `spec.ports[${number}].name`,
    reason: 'PortConflict',
    rule: 'a number and protocol has one name in all clusters',
    shapes: ['seed', 'current'],
    valueOf: ({ ports }) => ports.find((port) => numberOf(port) === number)?.name,
    isOpinion: (value) => value !== undefined,
    remedy: (value) => `name port ${number} ${nameText(value ?? '')}`,
  });
}

/** One cluster's only port has no name, and others bring more ports: together they are no valid Service. */
function unnamedConflict(components: readonly Component[], names: readonly string[]): readonly Conflict[] {
  if (!names.includes('') || names.length < 2) return [];
  const unnamed = components.filter((component) => portNamed(component, '') !== undefined);
  const clusters = unnamed.map(({ cluster }) => cluster);
  return disagreement(components, {
    field: 'spec.ports',
    reason: 'PortConflict',
    rule: 'each port has a name as soon as the clusters have several ports together',
    shapes: ['seed', 'current'],
    valueOf: ({ ports }) => ports.map((port) => `${nameText(port.name)} ${numberOf(port)}`).join(', '),
    isOpinion: (value) => value !== '',
    remedy: (value) => value,
  }).map((conflict) => ({
    ...conflict,
    // Nobody has to take over the ports of another: a name is enough.
    fix: { clusters, value: conflict.fix.value, text: `in ${listText(clusters)}: give the port a name` },
  }));
}

/** The union is legal and shown; today's API calls it a conflict all the same, the seed does not (MCS-125). */
function absenceConflict(components: readonly Component[], name: string): readonly Conflict[] {
  const valueOf = (component: Component): string | undefined => {
    const port = portNamed(component, name);
    return port && numberOf(port);
  };
  if (components.every((component) => valueOf(component) !== undefined)) return [];
  const present = components.map(valueOf).find((value) => value !== undefined);
  return disagreement(components, {
    field: `spec.ports[${nameText(name)}]`,
    reason: 'PortConflict',
    rule: 'every cluster has the same ports; a port leads only to the clusters that have it',
    shapes: ['current'],
    valueOf: (component) => (valueOf(component) === undefined ? undefined : present),
    prefersPresence: true,
    remedy: (value) => (value === undefined ? `remove port ${nameText(name)}` : `add port ${nameText(name)} ${value}`),
  });
}

function detailConflict(
  components: readonly Component[],
  name: string,
  detail: (typeof details)[number],
): readonly Conflict[] {
  const having = components.filter((component) => portNamed(component, name) !== undefined);
  return disagreement(having, {
    field: `spec.ports[${nameText(name)}].${detail}`,
    reason: 'PortConflict',
    rule: `a port has one ${detail} in all clusters`,
    shapes: ['current'],
    valueOf: (component) => portNamed(component, name)?.[detail],
    remedy: (value) =>
      value === undefined ? `remove ${detail} of port ${nameText(name)}` : `set ${detail} to ${value}`,
  });
}
