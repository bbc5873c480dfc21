import { invalid } from '../../api/errors.ts';
import { forbiddenField } from '../../api/field-errors.ts';
import { isNative, nativeConflict } from '../../api/kinds/apiextensions/customresourcedefinition/native.ts';
import type { CustomResourceDefinition } from '../../api/kinds/apiextensions/customresourcedefinition/schema.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { ServerContext } from '../context.ts';
import type { Resource } from '../resource.ts';
import { kindSubject } from '../resource.ts';

/** Without the webhook, objects would lose fields when they are read in another version. */
const noWebhook = forbiddenField(
  'spec.conversion.strategy',
  'this server does not call conversion webhooks: use None, with schemas that have the same fields in all versions',
);

/** Throws a 422 for a definition that the server cannot serve: one that contradicts a kind that the server itself serves, or needs a webhook. */
export function admitDefinition(
  { resources }: ServerContext,
  resource: Resource,
  _request: unknown,
  { next }: { readonly next: ApiObject },
): void {
  const crd = next as CustomResourceDefinition; // decoded by its schema
  const conflict = nativeConflict(crd, resources.own);
  const errors = [
    ...(conflict === undefined ? [] : [forbiddenField('spec', conflict)]),
    ...(crd.spec.conversion?.strategy === 'Webhook' && !isNative(crd, resources.own) ? [noWebhook] : []),
  ];
  if (errors.length > 0) throw invalid(kindSubject(resource, crd.metadata.name ?? ''), errors);
}
