import { ageColumn, column, nameColumn } from '../../../columns.ts';
import type { Kind } from '../../../kind.ts';
import { defineKind } from '../../../kind.ts';
import type { ValidatingWebhook, ValidatingWebhookConfiguration } from './schema.ts';
import { validatingWebhookConfiguration } from './schema.ts';
import { validateCreate, validateUpdate } from './validate.ts';

function applyDefaults(object: ValidatingWebhookConfiguration): ValidatingWebhookConfiguration {
  return object.webhooks === undefined ? object : { ...object, webhooks: object.webhooks.map(withDefaults) };
}

function withDefaults(webhook: ValidatingWebhook): ValidatingWebhook {
  const { clientConfig, rules } = webhook;
  const { service } = clientConfig;
  return {
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    objectSelector: {},
    timeoutSeconds: 10,
    ...webhook,
    ...(service === undefined ? {} : { clientConfig: { ...clientConfig, service: { port: 443, ...service } } }),
    ...(rules === undefined ? {} : { rules: rules.map((rule) => ({ scope: '*' as const, ...rule })) }),
  };
}

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
    columns: [
      nameColumn,
      column<ValidatingWebhookConfiguration>(
        'Webhooks',
        'Number of webhooks.',
        ({ webhooks = [] }) => webhooks.length,
        {
          type: 'integer',
        },
      ),
      ageColumn,
    ],
    applyDefaults,
    validateCreate,
    validateUpdate,
  });
