import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import {
  always,
  bytes,
  int32,
  list,
  listMap,
  map,
  optional,
  pointer,
  string,
  struct,
  time,
} from '../../../schema/schema.ts';

const certificates = 'io.k8s.api.certificates.v1';

const spec = struct(`${certificates}.CertificateSigningRequestSpec`, 'The request.', {
  request: always(1, bytes, 'A certificate request (PKCS #10) in a PEM block CERTIFICATE REQUEST.', { required: true }),
  signerName: always(7, string, 'Who shall sign the certificate, such as kubernetes.io/kube-apiserver-client.', {
    required: true,
  }),
  expirationSeconds: pointer(8, int32, 'How long the certificate shall be valid, at least 600. Signers may ignore it.'),
  usages: optional(5, list(string), 'What the certificate shall be used for, such as "client auth".'),
  username: optional(2, string, 'The user who created the object. Set by the server.'),
  uid: optional(3, string, 'The uid of that user. Set by the server.'),
  groups: optional(4, list(string), 'The groups of that user. Set by the server.'),
  extra: optional(6, map(list(string)), 'Further attributes of that user. Set by the server.'),
});

const condition = struct(
  `${certificates}.CertificateSigningRequestCondition`,
  'Whether the request is approved, is denied, or failed.',
  {
    type: always(1, string, 'Approved, Denied, Failed, or a type of the signer. Only one condition has each type.', {
      required: true,
    }),
    status: always(6, string, 'True, False or Unknown; of Approved, Denied and Failed always True.', {
      required: true,
    }),
    reason: optional(2, string, 'The reason, as one CamelCase word.'),
    message: optional(3, string, 'The reason, as text for people.'),
    lastUpdateTime: always(4, time, 'When the condition was last updated. Default: now.'),
    lastTransitionTime: always(5, time, 'When the status last changed. Default: now.'),
  },
);

const status = struct(`${certificates}.CertificateSigningRequestStatus`, 'Approval and certificate.', {
  conditions: optional(1, listMap(condition, ['type']), 'Whether the request is approved, is denied, or failed.'),
  certificate: optional(2, bytes, 'The certificate, and possibly its chain, as PEM. Set by the signer, once.'),
});

/** CertificateSigningRequest of certificates.k8s.io/v1. */
export const certificateSigningRequest = objectSchema(
  `${certificates}.CertificateSigningRequest`,
  'A request to a signer for a certificate, which an approver must approve.',
  {
    spec: always(2, spec, 'The request. Cannot be changed.', { required: true }),
    status: always(3, status, 'Approval and certificate.'),
  },
);

export type CertificateSigningRequest = Infer<typeof certificateSigningRequest>;
export type Condition = Infer<typeof condition>;
