// What the two kinds of webhook configurations share: defaults and columns.

import { ageColumn, column, nameColumn } from '../../columns.ts';
import type { ApiObject } from '../../metadata.ts';
import type { Webhook } from './webhook-schema.ts';

/** A ValidatingWebhookConfiguration, or a MutatingWebhookConfiguration, whose webhooks have one more field. */
export interface WebhookConfiguration<W extends Webhook = AnyWebhook> extends ApiObject {
  readonly webhooks?: readonly W[];
}

/** A webhook of either kind. */
export type AnyWebhook = Webhook & { readonly reinvocationPolicy?: string };

/** The defaults of a webhook. */
export function defaultedWebhook<W extends Webhook>(webhook: W): W {
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

const count = column<WebhookConfiguration>('Webhooks', 'Number of webhooks.', ({ webhooks = [] }) => webhooks.length, {
  type: 'integer',
});

export const webhookColumns = [nameColumn, count, ageColumn];
