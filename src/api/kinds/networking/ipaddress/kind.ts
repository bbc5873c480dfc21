import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, optional, pointer, string, struct } from '../../../schema/schema.ts';
import { canonicalAddressErrors } from '../../../address-errors.ts';
import { ageColumn, column, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { invalidAll, invalidValue, required } from '../../../field-errors.ts';
import type { Kind } from '../../../kind.ts';
import { defineKind } from '../../../kind.ts';
import { dnsSubdomainErrors, pathSegmentErrors } from '../../../names.ts';
import { validateSegment } from '../ingress/validate.ts';

const networking = 'io.k8s.api.networking.v1';

const parentReference = struct(`${networking}.ParentReference`, 'Identifies the object that has an address.', {
  group: optional(1, string, 'Group of the object; empty for the core group.'),
  resource: optional(2, string, 'Resource of the object, such as services.', { required: true }),
  namespace: optional(3, string, 'Namespace of the object.'),
  name: optional(4, string, 'Name of the object.', { required: true }),
});

const ipAddress = objectSchema(
  `${networking}.IPAddress`,
  'An allocated IP address. Its name is the address in canonical form.',
  {
    spec: always(
      2,
      struct(`${networking}.IPAddressSpec`, 'The owner of the address.', {
        parentRef: pointer(1, parentReference, 'The object that has the address. Cannot be changed.', {
          required: true,
        }),
      }),
      'The owner of the address.',
    ),
  },
);

export type IpAddress = Infer<typeof ipAddress>;
export type ParentReference = Infer<typeof parentReference>;

const path = 'spec.parentRef';
const parts = ['group', 'resource', 'namespace', 'name'] as const;

function validateCreate({ spec: { parentRef } }: IpAddress): FieldError[] {
  if (parentRef === undefined) return [required(path)];
  const { group = '', resource = '', namespace = '', name = '' } = parentRef;
  return [
    ...(group === '' ? [] : invalidAll(`${path}.group`, group, dnsSubdomainErrors(group))),
    ...validateSegment(`${path}.resource`, resource),
    ...validateSegment(`${path}.name`, name),
    ...invalidAll(`${path}.namespace`, namespace, pathSegmentErrors(namespace)),
  ];
}

function validateUpdate({ spec: { parentRef } }: IpAddress, old: IpAddress): FieldError[] {
  const isSame = parts.every((part) => (parentRef?.[part] ?? '') === (old.spec.parentRef?.[part] ?? ''));
  return isSame ? [] : [invalidValue(path, parentRef && inGoForm(parentRef), 'field is immutable')];
}

const inGoForm = ({ group = '', resource = '', namespace = '', name = '' }: ParentReference): object => ({
  Group: group,
  Resource: resource,
  Namespace: namespace,
  Name: name,
});

/** The object that has the address, such as `services/default/web`. */
function parentText({ spec: { parentRef } }: IpAddress): string {
  if (parentRef === undefined) return '<none>';
  const { group = '', resource = '', namespace = '', name = '' } = parentRef;
  const qualified = group === '' ? resource : `${resource}.${group}`;
  return namespace === '' ? `${qualified}/${name}` : `${qualified}/${namespace}/${name}`;
}

/** IPAddress of networking.k8s.io/v1. */
export const ipAddressKind: Kind<IpAddress> = defineKind<IpAddress>({
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'IPAddress',
  plural: 'ipaddresses',
  shortNames: ['ip'],
  namespaced: false,
  schema: ipAddress,
  columns: [nameColumn, column<IpAddress>('ParentRef', 'The object that uses the address.', parentText), ageColumn],
  selectableFields: {
    'spec.parentRef.group': ({ spec }) => spec.parentRef?.group ?? '',
    'spec.parentRef.resource': ({ spec }) => spec.parentRef?.resource ?? '',
    'spec.parentRef.namespace': ({ spec }) => spec.parentRef?.namespace ?? '',
    'spec.parentRef.name': ({ spec }) => spec.parentRef?.name ?? '',
  },
  nameErrors: canonicalAddressErrors,
  validateCreate,
  validateUpdate,
});
