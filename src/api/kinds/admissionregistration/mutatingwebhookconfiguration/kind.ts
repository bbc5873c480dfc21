import type { Kind } from '../../../kind.ts';
import { defineKind } from '../../../kind.ts';
import { validateCreate, validateUpdate } from '../validate-webhooks.ts';
import { defaultedWebhook, webhookColumns } from '../webhook-configuration.ts';
import type { MutatingWebhook, MutatingWebhookConfiguration } from './schema.ts';
import { mutatingWebhookConfiguration } from './schema.ts';

const withDefaults = (webhook: MutatingWebhook): MutatingWebhook => ({
  reinvocationPolicy: 'Never',
  ...defaultedWebhook(webhook),
});

/** MutatingWebhookConfiguration of admissionregistration.k8s.io/v1. */
export const mutatingWebhookConfigurationKind: Kind<MutatingWebhookConfiguration> =
  defineKind<MutatingWebhookConfiguration>({
    group: 'admissionregistration.k8s.io',
    version: 'v1',
    kind: 'MutatingWebhookConfiguration',
    plural: 'mutatingwebhookconfigurations',
    categories: ['api-extensions'],
    namespaced: false,
    schema: mutatingWebhookConfiguration,
    generation: 'content',
    unconditionalUpdate: false,
    columns: webhookColumns,
    applyDefaults: (object) =>
      object.webhooks === undefined ? object : { ...object, webhooks: object.webhooks.map(withDefaults) },
    validateCreate,
    validateUpdate,
  });
