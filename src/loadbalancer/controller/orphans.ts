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
  /** Whether a cache knows the Service to hold its load balancer, so that the server need not be asked. */
  readonly isHeld: (made: MadeFor) => boolean;
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

async function removeAll({ provider, client, log, isHeld }: OrphanSearch, signal: AbortSignal): Promise<void> {
  const suspects = (await provider.all(signal)).filter((made) => !isHeld(made));
  for (const made of await findOrphans(suspects, client, signal)) {
    const { namespace, name, uid } = made;
    log.info({ service: `${namespace}/${name}`, uid }, 'a load balancer without its Service is removed');
    await provider.remove(remains(made), signal);
  }
}

/** What is still known of a Service that is gone. */
const remains = ({ namespace, name, uid }: MadeFor): Service => ({
  metadata: { namespace, name, uid },
  spec: { type: 'LoadBalancer' },
  status: { loadBalancer: {} },
});
