import type { Logger } from 'pino';

import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import { sleep } from '../../client/clock.ts';
import type { LoadBalancerProvider, MadeFor } from './provider.ts';
import { RetryError } from './provider.ts';

/** The load balancers whose Service is gone, or is another of the same name: nobody holds them any more. */
export async function findOrphans(
  made: readonly MadeFor[],
  client: Client,
  signal?: AbortSignal,
): Promise<readonly MadeFor[]> {
  const orphans: MadeFor[] = [];
  for (const each of made) {
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
  /** UIDs of Services that a cache knows to hold their load balancer, so that the server need not be asked. */
  readonly held: () => ReadonlySet<string>;
}

/**
 * Takes down what belongs to Services that went while nobody held them: somebody took the finalizer off. A cloud that
 * asks for time is asked again, so that a load balancer of which half is gone does not stay so.
 */
export async function removeOrphans(search: OrphanSearch, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      return await removeAll(search, signal);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof RetryError))
        return search.log.warn({ err: error }, 'load balancers without a Service could not be looked for');
      await sleep(search.clock, error.afterMs, signal);
    }
  }
}

async function removeAll({ provider, client, log, held }: OrphanSearch, signal: AbortSignal): Promise<void> {
  const all = await provider.all(signal);
  const uids = held();
  const suspects = all.filter(({ uid }) => !uids.has(uid));
  for (const made of await findOrphans(suspects, client, signal)) {
    const about = { service: `${made.namespace}/${made.name}`, uid: made.uid };
    log.info(about, 'a load balancer without its Service is removed');
    await provider.remove(remains(made), signal).catch((error: unknown) => {
      if (signal.aborted || error instanceof RetryError) throw error;
      // Such as one that is protected, which is no reason to leave the others.
      log.warn({ ...about, err: error }, 'a load balancer without its Service stays until the next start');
    });
  }
}

/** What is still known of a Service that is gone. */
const remains = ({ namespace, name, uid }: MadeFor): Service => ({
  metadata: { namespace, name, uid },
  spec: { type: 'LoadBalancer' },
  status: { loadBalancer: {} },
});
