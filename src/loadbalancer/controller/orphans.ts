import type { Logger } from 'pino';

import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { messageOf } from '../../api/error-message.ts';
import type { Client } from '../../client/client.ts';
import type { Clock, Random } from '../../client/clock.ts';
import { backoffMs, sleep } from '../../client/clock.ts';
import type { LoadBalancerProvider, ServiceIdentity } from './provider.ts';
import { RetryError } from './provider.ts';

/** The load balancers whose Service was deleted or replaced by another of the same name. */
export async function findOrphans(
  owners: readonly ServiceIdentity[],
  client: Client,
  signal?: AbortSignal,
): Promise<readonly ServiceIdentity[]> {
  const orphans: ServiceIdentity[] = [];
  for (const each of owners) {
    const { namespace, name, uid } = each;
    const found = await client.find(serviceKind, { namespace, name }, signal === undefined ? {} : { signal });
    if (found?.metadata.uid !== uid) orphans.push(each);
  }
  return orphans;
}

export interface OrphanSearch {
  readonly provider: LoadBalancerProvider;
  readonly client: Client;
  readonly log: Logger;
  readonly clock: Clock;
  /** Jitter; default `Math.random`. */
  readonly random?: Random;
  /** UIDs of cached Services with the finalizer, which need no lookup. */
  readonly held: () => ReadonlySet<string>;
}

const backoff = { baseMs: 5000, maxMs: 300_000 };

/**
 * Deletes load balancers of Services that were deleted after their finalizer was removed by hand. Retries with backoff, or
 * after the delay of a RetryError.
 */
export async function removeOrphans(search: OrphanSearch, signal: AbortSignal): Promise<void> {
  const { clock, random = Math.random, log } = search;
  for (let failures = 0; !signal.aborted;) {
    try {
      return await removeAll(search, signal);
    } catch (error) {
      if (signal.aborted) return;
      const isRetryError = error instanceof RetryError;
      failures += isRetryError ? 0 : 1;
      if (!isRetryError)
        log[failures === 1 ? 'warn' : 'debug'](
          { err: error, failures },
          'could not delete all load balancers without a Service, retrying',
        );
      await sleep(clock, isRetryError ? error.afterMs : backoffMs(backoff, failures, random), signal);
    }
  }
}

/** Continues after a failure, for example of a load balancer with deletion protection. */
async function removeAll({ provider, client, log, held }: OrphanSearch, signal: AbortSignal): Promise<void> {
  const all = await provider.list(signal);
  const uids = held();
  const suspects = all.filter(({ uid }) => !uids.has(uid));
  let first: unknown;
  for (const made of await findOrphans(suspects, client, signal)) {
    const about = { service: `${made.namespace}/${made.name}`, uid: made.uid };
    try {
      await provider.remove(deletedService(made), signal);
      log.info(about, 'deleted a load balancer without a Service');
    } catch (error) {
      if (signal.aborted || error instanceof RetryError) throw error;
      first ??= new Error(`${about.service} (${made.uid}): ${messageOf(error)}`, { cause: error });
    }
  }
  if (first !== undefined) throw first;
}

/** A Service with the known fields of a deleted one. */
const deletedService = ({ namespace, name, uid }: ServiceIdentity): Service => ({
  metadata: { namespace, name, uid },
  spec: { type: 'LoadBalancer' },
  status: { loadBalancer: {} },
});
