// The number of endpoints that each zone should be allocated, in proportion to the CPU of its nodes.
import type { Node } from '../../api/kinds/core/node/schema.ts';
import { byKey } from '../../api/order.ts';
import { zoneLabel } from '../../api/kinds/core/node/labels.ts';

/** The allocation of a zone. */
export interface Share {
  readonly desired: number;
  readonly minimum: number;
  readonly maximum: number;
}

/** Zone → share, or the reason why hints are disabled. */
export type Shares = ReadonlyMap<string, Share> | { readonly disabled: string };

/** The endpoints of a zone may receive up to 20 % more traffic than the average. */
const overload = 0.2;

const controlPlaneLabels = ['node-role.kubernetes.io/control-plane', 'node-role.kubernetes.io/master'];

/** The shares of the zones of `count` ready endpoints. */
export function sharesOf(nodes: Iterable<Node>, count: number): Shares {
  const cpus = cpuByZone(nodes);
  if (cpus === undefined || cpus.size === 0) {
    return {
      disabled: 'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes',
    };
  }
  if (cpus.size < 2) return { disabled: 'Nodes only ready in one zone' };
  const counts = `(${count} endpoints, ${cpus.size} zones)`;
  if (count < cpus.size) return { disabled: `Insufficient number of endpoints ${counts}` };
  const total = cpus.values().reduce((sum, cpu) => sum + cpu, 0);
  const zones = [...cpus].sort(byKey);
  const shares = zones.map(([zone, cpu]) => {
    const fair = (cpu / total) * count;
    const minimum = Math.ceil(fair / (1 + overload));
    return { zone, minimum, fair };
  });
  const spare = count - shares.reduce((sum, { minimum }) => sum + minimum, 0);
  if (spare < 0) return { disabled: `Minimum allocation of required endpoints exceeds overload threshold ${counts}` };
  return new Map(
    shares.map(({ zone, minimum, fair }) => {
      const maximum = minimum + spare;
      return [zone, { minimum, maximum, desired: Math.min(Math.max(fair, minimum), maximum) }];
    }),
  );
}

/** Whether a change of a node does not affect the shares. */
export const hasSameShareInputs = (left: Node, right: Node): boolean => {
  const worth = ({ metadata: { labels = {} }, status }: Node): string =>
    JSON.stringify([
      labels[zoneLabel],
      controlPlaneLabels.some((label) => labels[label] !== undefined),
      status.conditions?.find(({ type }) => type === 'Ready')?.status,
      status.allocatable?.['cpu'],
    ]);
  return worth(left) === worth(right);
};

/** Zone → CPU of its schedulable ready nodes; undefined if a node lacks its zone or CPU. */
function cpuByZone(nodes: Iterable<Node>): ReadonlyMap<string, number> | undefined {
  const cpus = new Map<string, number>();
  for (const { metadata, status } of nodes) {
    if (controlPlaneLabels.some((label) => metadata.labels?.[label] !== undefined)) continue;
    if (!status.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True')) continue;
    const zone = metadata.labels?.[zoneLabel] ?? '';
    const cpu = cores(status.allocatable?.['cpu'] ?? 0);
    if (zone === '' || !(cpu > 0)) return undefined;
    cpus.set(zone, (cpus.get(zone) ?? 0) + cpu);
  }
  return cpus;
}

const multipliers: Readonly<Record<string, number>> = { n: 1e-9, u: 1e-6, m: 1e-3, '': 1, k: 1e3 };

/** A CPU quantity in cores; NaN if it is invalid. */
function cores(quantity: string | number): number {
  const [, digits = '', unit = ''] = /^([\d.]+(?:[eE][+-]?\d+)?)([a-z]?)$/.exec(String(quantity)) ?? [];
  return digits === '' ? Number.NaN : Number(digits) * (multipliers[unit] ?? Number.NaN);
}
