import { labelSelector } from '../../metadata.ts';
import type { Infer } from '../../schema/infer.ts';
import { always, bytes, int32, list, listMap, oneOf, optional, pointer, string, struct } from '../../schema/schema.ts';

export const registration = 'io.k8s.api.admissionregistration.v1';
export const registrationBeta = 'io.k8s.api.admissionregistration.v1beta1';

const serviceReference = struct(`${registration}.ServiceReference`, 'Identifies a port of a Service.', {
  namespace: always(1, string, 'The namespace of the Service.', { required: true }),
  name: always(2, string, 'The Service.', { required: true }),
  path: pointer(3, string, 'The path of the URL that is called.'),
  port: pointer(4, int32, 'The port of the Service; default: 443.'),
});

const clientConfig = struct(
  `${registration}.WebhookClientConfig`,
  'The address of a webhook, and the CAs to verify it.',
  {
    service: pointer(1, serviceReference, 'A Service of this cluster. Excludes url.'),
    caBundle: optional(2, bytes, 'CA certificates in PEM to verify the webhook with; default: those of the system.'),
    url: pointer(3, string, 'An address, https://host[:port][/path]. Excludes service.'),
  },
);

/** The fields of a rule; in protobuf they are in messages inside of the one with the operations. */
const ruleFields = (operations: object, rule: object) => ({
  operations: optional(1, list(string), 'CREATE, UPDATE, DELETE, CONNECT, or * for all.', operations),
  apiGroups: optional(1, list(string), 'Groups; * for all, an empty text for the core group.', rule),
  apiVersions: optional(2, list(string), 'Versions; * for all.', rule),
  resources: optional(
    3,
    list(string),
    'Resources such as pods, subresources such as pods/status; pods/*, */status, * (no subresource) and */* match many.',
    rule,
  ),
  scope: pointer(4, oneOf('Cluster', 'Namespaced', '*'), 'Cluster, Namespaced or * (the default).', rule),
});

const ruleWithOperations = struct(
  `${registration}.RuleWithOperations`,
  'Matches writes that every list of the rule contains.',
  ruleFields({}, { inline: 2 }),
);

/** A rule of a policy, which can be limited to objects with some names. */
export const namedRule = struct(
  `${registration}.NamedRuleWithOperations`,
  'Matches writes that every list of the rule contains.',
  {
    resourceNames: optional(1, list(string), 'Names of objects; default: all.'),
    ...ruleFields({ inline: 2 }, { inline: [2, 2] }),
  },
);

export const matchCondition = struct(`${registration}.MatchCondition`, 'A CEL expression that must be true.', {
  name: always(1, string, 'The name of the condition.', { required: true }),
  expression: always(2, string, 'The expression.', { required: true }),
});

/** The fields that validating and mutating webhooks share, with their protobuf numbers; two numbers differ. */
export const webhookFields = (kind: 'validating' | 'mutating') => ({
  name: always(1, string, 'A fully qualified name, such as imagepolicy.example.org.', { required: true }),
  clientConfig: always(2, clientConfig, 'The address of the webhook.', { required: true }),
  rules: optional(3, list(ruleWithOperations), 'The writes for which it is called: those that match any rule.'),
  failurePolicy: pointer(
    4,
    oneOf('Ignore', 'Fail'),
    'How a failed call is handled: Ignore admits the write, Fail (the default) rejects it.',
  ),
  namespaceSelector: pointer(5, labelSelector, 'Selects by labels of the namespace; default: all.'),
  sideEffects: pointer(
    6,
    oneOf('None', 'NoneOnDryRun', 'Some', 'Unknown'),
    'Side effects of a call: None, or NoneOnDryRun.',
    { required: true },
  ),
  timeoutSeconds: pointer(7, int32, 'Timeout of a call in seconds, 1 to 30; default: 10.'),
  admissionReviewVersions: always(8, list(string), 'Supported versions of AdmissionReview, the preferred one first.', {
    required: true,
  }),
  matchPolicy: pointer(
    9,
    oneOf('Exact', 'Equivalent'),
    'Exact: rules match the version of the request. Equivalent (the default): rules also match other versions of the same objects.',
  ),
  objectSelector: pointer(
    kind === 'validating' ? 10 : 11,
    labelSelector,
    'Selects by labels of the object, new or old; default: all.',
  ),
  matchConditions: optional(
    kind === 'validating' ? 11 : 12,
    listMap(matchCondition, ['name'], { mergeKey: 'name' }),
    'CEL expressions that must all be true for the webhook to be called.',
  ),
});

const anyWebhook = struct(`${registration}.ValidatingWebhook`, 'A webhook.', webhookFields('validating'));

/** What validating and mutating webhooks have in common. */
export type Webhook = Infer<typeof anyWebhook>;
export type WebhookClientConfig = Infer<typeof clientConfig>;
export type WebhookRule = Infer<typeof ruleWithOperations>;
export type MatchCondition = Infer<typeof matchCondition>;
export type ServiceReference = Infer<typeof serviceReference>;
