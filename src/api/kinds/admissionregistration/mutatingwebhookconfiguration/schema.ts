import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { listMap, oneOf, optional, pointer, struct } from '../../../schema/schema.ts';
import { registration, webhookFields } from '../webhook-schema.ts';

const mutatingWebhook = struct(
  `${registration}.MutatingWebhook`,
  'A webhook that is called before a write, and that can change the object.',
  {
    ...webhookFields('mutating'),
    reinvocationPolicy: pointer(
      10,
      oneOf('Never', 'IfNeeded'),
      'IfNeeded: called a second time if a later webhook changed the object. Default: Never.',
    ),
  },
);

/** MutatingWebhookConfiguration of admissionregistration.k8s.io/v1. */
export const mutatingWebhookConfiguration = objectSchema(
  `${registration}.MutatingWebhookConfiguration`,
  'Webhooks that are called before a write, one after the other, and that can change the object or reject it.',
  { webhooks: optional(2, listMap(mutatingWebhook, ['name'], { mergeKey: 'name' }), 'The webhooks.') },
);

export type MutatingWebhookConfiguration = Infer<typeof mutatingWebhookConfiguration>;
export type MutatingWebhook = Infer<typeof mutatingWebhook>;
