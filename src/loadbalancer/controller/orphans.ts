import type { Logger } from 'pino';

import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { messageOf } from '../../api/error-message.ts';
import type { Client } from '../../client/client.ts';
import type { Clock, Random } from '../../client/clock.ts';
import { backoffMs, sleep } from '../../client/clock.ts';
import type { LoadBalancerProvider, ServiceIdentity } from './provider.ts';
import { RetryError } from './provider.ts';

/** The load balancers whose Service is gone, or is another of the same name: nobody holds them any more. */
export async function findOrphans(
  made: readonly ServiceIdentity[],
  client: Client,
  signal?: AbortSignal,
): Promise<readonly ServiceIdentity[]> {
  const orphans: ServiceIdentity[] = [];
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
  /** Spreads waits; default `Math.random`. */
  readonly random?: Random;
  /** UIDs of Services that a cache knows to hold their load balancer, so that the server need not be asked. */
  readonly held: () => ReadonlySet<string>;
}

/** Waits after failures in a row, as for Services. */
const backoff = { baseMs: 5000, maxMs: 300_000 };

/**
 * Takes down what belongs to Services that went while nobody held them: somebody took the finalizer off. What fails is
 * tried again until nothing is left, after as long as the cloud asks for or ever more rarely.
 */
export async function removeOrphans(search: OrphanSearch, signal: AbortSignal): Promise<void> {
  const { clock, random = Math.random, log } = search;
  for (let failures = 0; !signal.aborted;) {
    try {
      return await removeAll(search, signal);
    } catch (error) {
      if (signal.aborted) return;
      const isAsked = error instanceof RetryError;
      failures += isAsked ? 0 : 1;
      if (!isAsked)
        log[failures === 1 ? 'warn' : 'debug'](
          { err: error, failures },
          'load balancers without a Service could not all be removed, will try again',
        );
      await sleep(clock, isAsked ? error.afterMs : backoffMs(backoff, failures, random), signal);
    }
  }
}

/** One that stays, such as one that is protected, is no reason to leave the others. */
async function removeAll({ provider, client, log, held }: OrphanSearch, signal: AbortSignal): Promise<void> {
  const all = await provider.list(signal);
  const uids = held();
  const suspects = all.filter(({ uid }) => !uids.has(uid));
  let first: unknown;
  for (const made of await findOrphans(suspects, client, signal)) {
    const about = { service: `${made.namespace}/${made.name}`, uid: made.uid };
    try {
      await provider.remove(remains(made), signal);
      log.info(about, 'a load balancer without its Service was removed');
    } catch (error) {
      if (signal.aborted || error instanceof RetryError) throw error;
      first ??= new Error(`${about.service} (${made.uid}): ${messageOf(error)}`, { cause: error });
    }
  }
  if (first !== undefined) throw first;
}

/** What is still known of a Service that is gone. */
const remains = ({ namespace, name, uid }: ServiceIdentity): Service => ({
  metadata: { namespace, name, uid },
  spec: { type: 'LoadBalancer' },
  status: { loadBalancer: {} },
});
