import { parseCidr } from '../../../addresses.ts';
import { ageColumn, column, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { duplicate, forbiddenField, invalidAll, invalidValue, notSupported, required } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import { labelValueErrors, qualifiedNameErrors } from '../../../names.ts';
import type { Node } from './schema.ts';
import { node } from './schema.ts';

export const nodeKind = defineKind<Node>({
  group: '',
  version: 'v1',
  kind: 'Node',
  plural: 'nodes',
  shortNames: ['no'],
  namespaced: false,
  schema: node,
  hasStatus: true,
  subresources: [{ name: 'proxy', verbs: ['create', 'delete', 'get', 'patch', 'update'], connect: 'NodeProxyOptions' }],
  columns: [
    nameColumn,
    column('Status', 'Whether the node is ready and schedulable.', readiness),
    column('Roles', 'Roles of the node.', roles),
    ageColumn,
    column('Version', 'Version of the kubelet.', ({ status }) => status.nodeInfo.kubeletVersion),
    column('Internal-IP', 'First internal address.', (object) => addressOf(object, 'InternalIP'), { wide: true }),
    column('External-IP', 'First external address.', (object) => addressOf(object, 'ExternalIP'), { wide: true }),
    column('OS-Image', 'Operating system image.', ({ status }) => status.nodeInfo.osImage || unknown, { wide: true }),
    column('Kernel-Version', 'Version of the kernel.', ({ status }) => status.nodeInfo.kernelVersion || unknown, {
      wide: true,
    }),
    column(
      'Container-Runtime',
      'Version of the container runtime.',
      ({ status }) => status.nodeInfo.containerRuntimeVersion || unknown,
      { wide: true },
    ),
  ],
  selectableFields: { 'spec.unschedulable': ({ spec }) => String(spec.unschedulable ?? false) },
  applyDefaults: syncedCidrs,
  validateCreate: (object) => [...taintErrors(object), ...cidrErrors(object)],
  validateUpdate: (object, old) => [
    ...taintErrors(object),
    ...cidrErrors(object),
    ...immutableFieldErrors(object, old),
  ],
});

const unknown = '<unknown>';

function readiness({ spec, status }: Node): string {
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  const word = ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady';
  return spec.unschedulable ? `${word},SchedulingDisabled` : word;
}

const rolePrefix = 'node-role.kubernetes.io/';

function roles({ metadata: { labels = {} } }: Node): string {
  const found = new Set<string>();
  for (const [key, value] of Object.entries(labels)) {
    if (key.startsWith(rolePrefix) && key !== rolePrefix) found.add(key.slice(rolePrefix.length));
    else if (key === 'kubernetes.io/role' && value !== '') found.add(value);
  }
  return found.size === 0 ? '<none>' : [...found].sort().join(',');
}

const addressOf = ({ status }: Node, wanted: string): string =>
  status.addresses?.find(({ type }) => type === wanted)?.address ?? '<none>';

/** Sets podCIDR and podCIDRs from each other; allocatable defaults to capacity. */
function syncedCidrs(object: Node): Node {
  const { podCIDR, podCIDRs = [] } = object.spec;
  const { capacity, allocatable } = object.status;
  const status =
    capacity !== undefined && allocatable === undefined ? { ...object.status, allocatable: capacity } : object.status;
  const first = podCIDR ?? podCIDRs[0];
  if (first === undefined) return { ...object, status };
  const all = podCIDRs[0] === first ? podCIDRs : [first];
  return { ...object, spec: { ...object.spec, podCIDR: first, podCIDRs: all }, status };
}

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

function taintErrors({ spec }: Node): readonly FieldError[] {
  const seen = new Set<string>();
  return (spec.taints ?? []).flatMap(({ key, value = '', effect, timeAdded = null }, index) => {
    const path = `metadata.taints[${index}]`; // the path in Kubernetes' messages, although taints are in spec
    const isRepeated = seen.has(`${key} ${effect}`);
    seen.add(`${key} ${effect}`);
    const { body, ...repeated } = duplicate(path, { Key: key, Value: value, Effect: effect, TimeAdded: timeAdded });
    return [
      ...invalidAll(`${path}.key`, key, qualifiedNameErrors(key)),
      ...invalidAll(`${path}.value`, value, labelValueErrors(value)),
      ...effectErrors(effect, `${path}.effect`),
      ...(isRepeated ? [{ ...repeated, body: `${body}: taints must be unique by key and effect pair` }] : []),
    ];
  });
}

function effectErrors(effect: string, path: string): readonly FieldError[] {
  if (effect === '') return [required(path)];
  return effects.includes(effect) ? [] : [notSupported(path, effect, effects)];
}

function cidrErrors({ spec: { podCIDRs = [] } }: Node): readonly FieldError[] {
  return podCIDRs
    .map((cidr, index) => ({ cidr, path: `spec.podCIDRs[${index}]` }))
    .filter(({ cidr }) => parseCidr(cidr) === undefined)
    .map(({ cidr, path }) =>
      invalidValue(path, cidr, 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'),
    );
}

function immutableFieldErrors({ spec }: Node, { spec: old }: Node): readonly FieldError[] {
  return [
    ...(old.podCIDR !== undefined && spec.podCIDR !== old.podCIDR
      ? [forbiddenField('spec.podCIDRs', 'node updates may not change podCIDR except from "" to valid')]
      : []),
    ...(old.providerID !== undefined && spec.providerID !== old.providerID
      ? [forbiddenField('spec.providerID', 'node updates may not change providerID except from "" to valid')]
      : []),
  ];
}
