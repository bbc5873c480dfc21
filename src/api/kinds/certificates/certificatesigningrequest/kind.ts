import { ageColumn, column, duration, nameColumn } from '../../../columns.ts';
import type { PartialWrite, WriteContext } from '../../../kind.ts';
import { defineKind } from '../../../kind.ts';
import { conditionsOf, withStoredConditions, withTimes } from './conditions.ts';
import type { CertificateSigningRequest } from './schema.ts';
import { certificateSigningRequest } from './schema.ts';
import { createErrors, statusErrors } from './validate.ts';

/** PUT or PATCH of `approval`, which changes the conditions. */
const approval: PartialWrite<CertificateSigningRequest> = {
  prepare({ status: { conditions = [] }, metadata }, old, { now = '' }) {
    return { ...old, metadata, status: { ...old.status, conditions: withTimes(conditions, old, now) } };
  },
  validate: (object, old) => statusErrors(object, old, 'conditions'),
};

/** CertificateSigningRequest of certificates.k8s.io/v1. */
export const certificateSigningRequestKind = defineKind<CertificateSigningRequest>({
  group: 'certificates.k8s.io',
  version: 'v1',
  kind: 'CertificateSigningRequest',
  plural: 'certificatesigningrequests',
  shortNames: ['csr'],
  namespaced: false,
  schema: certificateSigningRequest,
  hasStatus: true,
  subresources: [{ name: 'approval', verbs: ['get', 'patch', 'update'], write: approval }],
  resets: {
    '': [['spec'], ['status']],
    status: [['spec'], ['status', 'conditions']],
    approval: [['spec'], ['status', 'certificate']],
  },
  selectableFields: { 'spec.signerName': ({ spec }) => spec.signerName },
  withoutController: 'no controller signs the certificate',
  columns: [
    nameColumn,
    ageColumn,
    column('SignerName', 'Who shall sign the certificate.', ({ spec }) => spec.signerName || '<none>'),
    column('Requestor', 'The user who created the object.', ({ spec }) => spec.username ?? ''),
    column('RequestedDuration', 'How long the certificate shall be valid.', ({ spec: { expirationSeconds } }) =>
      expirationSeconds === undefined ? '<none>' : duration(expirationSeconds * 1000),
    ),
    column('Condition', 'Whether the request is approved and the certificate is issued.', conditionText),
  ],
  prepareForCreate,
  prepareForUpdate: (object, old) => ({ ...object, spec: old.spec }),
  prepareForStatusUpdate(object, old, { now = '' }) {
    const conditions = withStoredConditions(object, old, ['Approved', 'Denied']);
    return { ...object, status: { ...object.status, conditions: withTimes(conditions, old, now) } };
  },
  nameErrors: () => [],
  validateCreate: createErrors,
  validateStatus: (object, old) => statusErrors(object, old, 'certificate'),
});

/** Records the user who creates the request. */
function prepareForCreate(object: CertificateSigningRequest, { user }: WriteContext): CertificateSigningRequest {
  const { username: _username, uid: _uid, groups: _groups, extra: _extra, ...spec } = object.spec;
  const { name = '', uid = '', groups = [], extra = {} } = user ?? {};
  return {
    ...object,
    spec: {
      ...spec,
      ...(name === '' ? {} : { username: name }),
      ...(uid === '' ? {} : { uid }),
      ...(groups.length === 0 ? {} : { groups }),
      ...(Object.keys(extra).length === 0 ? {} : { extra }),
    },
    status: {},
  };
}

/** The decision, whether the signer failed, and whether there is a certificate. */
function conditionText(object: CertificateSigningRequest): string {
  const has = (type: string): boolean => conditionsOf(object, type).length > 0;
  const decision = has('Denied') ? 'Denied' : has('Approved') ? 'Approved' : 'Pending';
  const outcomes = [...(has('Failed') ? ['Failed'] : []), ...(object.status.certificate ? ['Issued'] : [])];
  return [decision, ...outcomes].join(',');
}
