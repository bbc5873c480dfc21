import type { Kind } from '../../../kind.ts';
import { defineKind } from '../../../kind.ts';
import { validateCreate, validateUpdate } from '../validate-webhooks.ts';
import { defaultedWebhook, webhookColumns } from '../webhook-configuration.ts';
import type { ValidatingWebhookConfiguration } from './schema.ts';
import { validatingWebhookConfiguration } from './schema.ts';

/** ValidatingWebhookConfiguration of admissionregistration.k8s.io/v1. */
export const validatingWebhookConfigurationKind: Kind<ValidatingWebhookConfiguration> =
  defineKind<ValidatingWebhookConfiguration>({
    group: 'admissionregistration.k8s.io',
    version: 'v1',
    kind: 'ValidatingWebhookConfiguration',
    plural: 'validatingwebhookconfigurations',
    categories: ['api-extensions'],
    namespaced: false,
    schema: validatingWebhookConfiguration,
    generation: 'content',
    unconditionalUpdate: false,
    columns: webhookColumns,
    applyDefaults: (object) =>
      object.webhooks === undefined ? object : { ...object, webhooks: object.webhooks.map(defaultedWebhook) },
    validateCreate,
    validateUpdate,
  });
