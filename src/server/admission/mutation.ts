import type { ApiObject } from '../../api/metadata.ts';
import type { ServerContext } from '../context.ts';
import type { Resource } from '../resource.ts';
import type { WriteRequest } from '../verbs/write-request.ts';
import { completed } from './admission.ts';
import { mutateByWebhooks } from './review.ts';

/**
 * The object with what mutating webhooks make of it. As in Kubernetes, the plugins of its kind run again on an object
 * that a webhook changed. Returns undefined if there is no webhook.
 */
export const mutated = (
  context: ServerContext,
  resource: Resource,
  request: WriteRequest,
  { next, old }: { readonly next: ApiObject; readonly old: ApiObject | undefined },
): Promise<ApiObject | undefined> =>
  mutateByWebhooks(context, resource, request, {
    operation: old === undefined ? 'CREATE' : 'UPDATE',
    object: next,
    old,
    between: async (object) =>
      request.subresource === '' ? request.work.run(() => completed(context, resource, { next: object, old })) : object,
  });
