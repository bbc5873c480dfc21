import type { ApiObject } from '../../../api/metadata.ts';
import type { ServerContext } from '../../context.ts';
import type { Resource } from '../../resource.ts';
import type { WriteRequest } from '../../verbs/write-request.ts';
import type { Attempt } from './attempt.ts';

/** What a write is about to do. */
export interface Change {
  readonly operation: Attempt['operation'];
  readonly object: ApiObject | undefined;
  readonly old: ApiObject | undefined;
}

/** Who writes, and how. */
export type Writer = Pick<WriteRequest, 'user' | 'subresource' | 'dryRun' | 'warnings' | 'sent'>;

const optionsKinds = { CREATE: 'CreateOptions', UPDATE: 'UpdateOptions', DELETE: 'DeleteOptions' } as const;

/**
 * Asks webhooks about a write before it is committed, dry runs included: what has side effects then cannot be
 * configured. Undefined when there is nobody to ask, so that nothing is awaited; the server's own writes ask nobody.
 */
export function admission(
  { plugins, webhooks }: ServerContext,
  { kind }: Resource,
  { user, subresource, dryRun, warnings, sent }: Writer,
  change: Change,
): Promise<void> | undefined {
  if (webhooks.isIdle || user === undefined || !plugins.has('ValidatingAdmissionWebhook')) return undefined;
  const options = { kind: optionsKinds[change.operation], apiVersion: 'meta.k8s.io/v1' };
  return webhooks.admit({ ...change, kind, subresource, user, dryRun, options: { ...sent?.(), ...options } }, warnings);
}
