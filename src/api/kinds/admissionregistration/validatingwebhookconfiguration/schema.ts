import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { listMap, optional, struct } from '../../../schema/schema.ts';
import { registration, webhookFields } from '../webhook-schema.ts';

const validatingWebhook = struct(
  `${registration}.ValidatingWebhook`,
  'A webhook that is called before a write.',
  webhookFields('validating'),
);

/** ValidatingWebhookConfiguration of admissionregistration.k8s.io/v1. */
export const validatingWebhookConfiguration = objectSchema(
  `${registration}.ValidatingWebhookConfiguration`,
  'Webhooks that are called before a write, and that can reject it or return warnings.',
  { webhooks: optional(2, listMap(validatingWebhook, ['name'], { mergeKey: 'name' }), 'The webhooks.') },
);

export type ValidatingWebhookConfiguration = Infer<typeof validatingWebhookConfiguration>;
