import type { ApiObject } from '../../../api/metadata.ts';
import type { ServerContext } from '../../context.ts';
import type { Resource } from '../../resource.ts';
import type { WriteRequest } from '../../verbs/write-request.ts';
import type { AdmissionAttributes } from './attributes.ts';

/** The change that a write is about to commit. */
export interface Change {
  readonly operation: AdmissionAttributes['operation'];
  readonly object: ApiObject | undefined;
  readonly old: ApiObject | undefined;
}

/** The request behind a write. */
export interface WriteSource extends Pick<WriteRequest, 'user' | 'dryRun' | 'warnings' | 'sent'> {
  readonly subresource: string;
  /** What the client wrote instead of the object itself, if anything. */
  readonly representation?: AdmissionAttributes['representation'];
}

const optionsKinds = { CREATE: 'CreateOptions', UPDATE: 'UpdateOptions', DELETE: 'DeleteOptions' } as const;

/**
 * Calls the validating webhooks for a write before it is committed, for dry runs too: webhooks with side effects cannot
 * be configured. Returns undefined if no webhook applies, so that the caller need not await. Writes of the server itself
 * are not checked.
 */
export function callWebhooks(
  { plugins, resources, webhooks }: ServerContext,
  { kind }: Resource,
  { user, subresource, representation, dryRun, warnings, sent }: WriteSource,
  change: Change,
): Promise<void> | undefined {
  if (webhooks.isIdle || user === undefined || !plugins.has('ValidatingAdmissionWebhook')) return undefined;
  const options = { kind: optionsKinds[change.operation], apiVersion: 'meta.k8s.io/v1' };
  return webhooks.admit(
    {
      ...change,
      kind,
      equivalents: () => resources.equivalents(kind),
      subresource,
      representation,
      user,
      dryRun,
      options: { ...sent?.(), ...options },
    },
    warnings,
  );
}
