import type { Logger } from 'pino';

import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { Client } from '../../client/client.ts';
import type { LoadBalancerProvider, MadeFor } from './provider.ts';

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
  /** Whether a cache knows the Service to hold its load balancer, so that the server need not be asked. */
  readonly isHeld: (made: MadeFor) => boolean;
}

/** Takes down what belongs to Services that went while nobody held them: somebody took the finalizer off. */
export async function removeOrphans(
  { provider, client, log, isHeld }: OrphanSearch,
  signal: AbortSignal,
): Promise<void> {
  try {
    const suspects = (await provider.all(signal)).filter((made) => !isHeld(made));
    for (const made of await findOrphans(suspects, client, signal)) {
      const { namespace, name, uid } = made;
      log.info({ service: `${namespace}/${name}`, uid }, 'a load balancer without its Service is removed');
      await provider.remove(remains(made), signal);
    }
  } catch (error) {
    if (!signal.aborted) log.warn({ err: error }, 'load balancers without a Service could not be looked for');
  }
}

/** What is still known of a Service that is gone. */
const remains = ({ namespace, name, uid }: MadeFor): Service => ({
  metadata: { namespace, name, uid },
  spec: { type: 'LoadBalancer' },
  status: { loadBalancer: {} },
});
