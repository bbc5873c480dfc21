// ClusterMember: a cluster of a set, with a reference to its credentials.
import { parseAddress, parseCidr } from '../../../addresses.ts';
import { column, customAgeColumn, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { invalidAll, invalidValue, notSupported, required } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import { clusterIdErrors } from '../cluster-id.ts';
import { conditionColumn } from '../condition-column.ts';
import { addressModes, lossPolicies } from '../labels.ts';
import { conditionErrors } from '../validate.ts';
import type { ClusterMember, ClusterMemberSpec } from './schema.ts';
import { clusterMemberSchema } from './schema.ts';

/** The key of the Secret of a member with its kubeconfig. */
export const kubeconfigKey = 'kubeconfig';

export const clusterMemberKind = defineKind<ClusterMember>({
  group: 'multicluster.fairlead.dev',
  version: 'v1alpha1',
  kind: 'ClusterMember',
  plural: 'clustermembers',
  shortNames: ['clmem'],
  categories: ['multicluster'],
  namespaced: true,
  schema: clusterMemberSchema,
  custom: true,
  hasStatus: true,
  generation: 'content',
  unconditionalUpdate: false,
  nameErrors: (name) => clusterIdErrors(name),
  columns: [
    nameColumn,
    conditionColumn('Reachable', 'Whether the cluster answers.'),
    conditionColumn('Accepted', 'Whether it takes part in the set.'),
    conditionColumn('InSync', 'Whether it has all imports.'),
    column('Version', 'Version of its API server.', ({ status }) => status?.version ?? '', {
      path: '.status.version',
    }),
    column('Exports', 'Number of Services that it exports.', ({ status }) => status?.exportCount ?? '', {
      type: 'integer',
      path: '.status.exportCount',
    }),
    customAgeColumn,
  ],
  prepareForCreate: ({ status: _status, ...rest }) => rest,
  validateCreate: ({ spec }) => clusterMemberErrors(spec),
  validateUpdate: ({ spec }) => clusterMemberErrors(spec),
  validateStatus: ({ status }) => conditionErrors(status?.conditions ?? [], true),
});

const ranges = ['superclusterCIDRs', 'endpointCIDRs'] as const;
const limits = ['maxExports', 'maxEndpoints', 'maxEndpointsPerService'] as const;

/** Validation errors of a spec. A server with the CustomResourceDefinition checks less, so the controller checks again. */
export function clusterMemberErrors(spec: ClusterMemberSpec): readonly FieldError[] {
  const { onLoss, addressMode, addresses = [] } = spec;
  return [
    ...(spec.secretRef.name === '' ? [required('spec.secretRef.name')] : []),
    ...ranges.flatMap((field) =>
      (spec[field] ?? []).flatMap((text, index) =>
        parseCidr(text) === undefined
          ? invalidAll(`spec.${field}[${index}]`, text, ['must be a CIDR, such as 241.0.0.0/16'])
          : [],
      ),
    ),
    ...limits.flatMap((field) =>
      (spec[field] ?? 0) < 0 ? [invalidValue(`spec.${field}`, spec[field], 'must be greater than or equal to 0')] : [],
    ),
    ...(onLoss === undefined || lossPolicies.includes(onLoss)
      ? []
      : [notSupported('spec.onLoss', onLoss, lossPolicies)]),
    ...(addressMode === undefined || addressModes.includes(addressMode)
      ? []
      : [notSupported('spec.addressMode', addressMode, addressModes)]),
    ...addresses.flatMap((text, index) =>
      parseAddress(text) === undefined
        ? invalidAll(`spec.addresses[${index}]`, text, ['must be an IP address, such as 192.0.2.10'])
        : [],
    ),
    ...(addresses.length > 0 && (addressMode ?? 'pods') === 'pods'
      ? [
          invalidValue(
            'spec.addresses',
            addresses,
            'may only be set with addressMode loadbalancer, nodeport or gateway',
          ),
        ]
      : []),
  ];
}
