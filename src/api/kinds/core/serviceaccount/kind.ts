import { tokenRequestKind } from '../../authentication/tokenrequest/kind.ts';
import { ageColumn, nameColumn } from '../../../columns.ts';
import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { boolean, list, listMap, optional, pointer } from '../../../schema/schema.ts';
import { localObjectReference, objectReference } from '../references.ts';

const serviceAccount = objectSchema('io.k8s.api.core.v1.ServiceAccount', 'An identity for programs in the cluster.', {
  secrets: optional(
    2,
    listMap(objectReference, ['name'], { mergeKey: 'name' }),
    'Secrets that Pods of this account may use. Deprecated.',
  ),
  imagePullSecrets: optional(3, list(localObjectReference), 'Secrets for pulling images.'),
  automountServiceAccountToken: pointer(4, boolean, 'Whether Pods get a token by default.'),
});

export type ServiceAccount = Infer<typeof serviceAccount>;

/** Of the references to Secrets only the names are stored. */
const withSecretNames = (account: ServiceAccount): ServiceAccount =>
  account.secrets === undefined
    ? account
    : { ...account, secrets: account.secrets.map(({ name }) => (name === undefined ? {} : { name })) };

export const serviceAccountKind = defineKind<ServiceAccount>({
  group: '',
  version: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  shortNames: ['sa'],
  namespaced: true,
  schema: serviceAccount,
  subresources: [{ name: 'token', verbs: ['create'], body: tokenRequestKind }],
  deleteReturns: 'object',
  columns: [nameColumn, ageColumn],
  prepareForCreate: withSecretNames,
  prepareForUpdate: withSecretNames,
});
