import { labelSelector, objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import {
  always,
  bytes,
  int32,
  list,
  listMap,
  oneOf,
  optional,
  pointer,
  string,
  struct,
} from '../../../schema/schema.ts';

const registration = 'io.k8s.api.admissionregistration.v1';

const serviceReference = struct(`${registration}.ServiceReference`, 'Names a port of a Service.', {
  namespace: always(1, string, 'The namespace of the Service.', { required: true }),
  name: always(2, string, 'The Service.', { required: true }),
  path: pointer(3, string, 'The path of the URL that is called.'),
  port: pointer(4, int32, 'The port of the Service; 443 unless it says otherwise.'),
});

const clientConfig = struct(`${registration}.WebhookClientConfig`, 'Where a webhook is, and how to trust it.', {
  service: pointer(1, serviceReference, 'A Service of this cluster. Excludes url.'),
  caBundle: optional(
    2,
    bytes,
    'Authorities that the certificate must be signed by, PEM; those of the system if empty.',
  ),
  url: pointer(3, string, 'An address, https://host[:port][/path]. Excludes service.'),
});

const inRule = { inline: 2 };

const ruleWithOperations = struct(
  `${registration}.RuleWithOperations`,
  'Operations and the resources they are about. A write matches that is in every one of the lists.',
  {
    operations: optional(1, list(string), 'CREATE, UPDATE, DELETE, CONNECT, or * for all.'),
    apiGroups: optional(1, list(string), 'Groups; * for all, an empty text for the core group.', inRule),
    apiVersions: optional(2, list(string), 'Versions; * for all.', inRule),
    resources: optional(
      3,
      list(string),
      'Resources such as pods, subresources such as pods/status; pods/*, */status, * (no subresource) and */* match many.',
      inRule,
    ),
    scope: pointer(4, oneOf('Cluster', 'Namespaced', '*'), 'Cluster, Namespaced or * (the default).', inRule),
  },
);

const matchCondition = struct(`${registration}.MatchCondition`, 'A CEL expression that must be true. Not supported.', {
  name: always(1, string, 'What it is called.', { required: true }),
  expression: always(2, string, 'The expression.', { required: true }),
});

const validatingWebhook = struct(`${registration}.ValidatingWebhook`, 'Somebody who is asked before a write.', {
  name: always(1, string, 'A fully qualified name, such as imagepolicy.example.org.', { required: true }),
  clientConfig: always(2, clientConfig, 'Where it is.', { required: true }),
  rules: optional(3, list(ruleWithOperations), 'The writes that it is asked about; any rule may match.'),
  failurePolicy: pointer(
    4,
    oneOf('Ignore', 'Fail'),
    'What becomes of a write that it could not be asked about: Ignore lets it through, Fail (the default) refuses it.',
  ),
  namespaceSelector: pointer(5, labelSelector, 'Selects by labels of the namespace; everything by default.'),
  sideEffects: pointer(
    6,
    oneOf('None', 'NoneOnDryRun', 'Some', 'Unknown'),
    'Whether asking changes anything: None, or NoneOnDryRun.',
    { required: true },
  ),
  timeoutSeconds: pointer(7, int32, 'How long an answer may take, 1 to 30 seconds; 10 by default.'),
  admissionReviewVersions: always(8, list(string), 'Versions of AdmissionReview that it reads, the favourite first.', {
    required: true,
  }),
  matchPolicy: pointer(
    9,
    oneOf('Exact', 'Equivalent'),
    'Exact: rules name the version that was written. Equivalent (the default): or another version of the same objects.',
  ),
  objectSelector: pointer(10, labelSelector, 'Selects by labels of the object, new or old; everything by default.'),
  matchConditions: optional(
    11,
    listMap(matchCondition, ['name'], { mergeKey: 'name' }),
    'CEL expressions. Not supported: a webhook that has any is refused.',
  ),
});

/** Who is asked before a write, and may refuse it (admissionregistration.k8s.io/v1). */
export const validatingWebhookConfiguration = objectSchema(
  `${registration}.ValidatingWebhookConfiguration`,
  'Who is asked before a write is made, and may refuse it or warn of it.',
  { webhooks: optional(2, listMap(validatingWebhook, ['name'], { mergeKey: 'name' }), 'Those who are asked.') },
);

export type ValidatingWebhookConfiguration = Infer<typeof validatingWebhookConfiguration>;
export type ValidatingWebhook = Infer<typeof validatingWebhook>;
export type WebhookClientConfig = Infer<typeof clientConfig>;
export type WebhookRule = Infer<typeof ruleWithOperations>;
export type ServiceReference = Infer<typeof serviceReference>;
