import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import { findOrphans } from '../../loadbalancer/controller/orphans.ts';
import type { LoadBalancerOptions } from '../../loadbalancer/loadbalancer.ts';
import { providerFor } from '../../loadbalancer/loadbalancer.ts';
import { UsageError } from '../errors.ts';
import type { AwsSettings } from './aws.ts';
import { connectAws } from './aws.ts';
import { columns } from '../output.ts';
import type { ActionCall } from '../part/part.ts';

/** `fairlead loadbalancer orphans`: what a cloud has for Services that are gone, by name. 1: there is something. */
export async function showOrphans(
  { args, streams, connect }: Pick<ActionCall, 'args' | 'streams' | 'connect'>,
  options: LoadBalancerOptions,
  settings: AwsSettings | undefined,
): Promise<number> {
  if (args.length > 0) throw new UsageError('expected `fairlead loadbalancer orphans`, and flags');
  if (options.simulation === undefined && settings === undefined)
    throw new UsageError(
      'which cloud? pass --provider aws or --simulate CLOUD: addresses of pools leave nothing behind',
    );
  const client = await connect();
  const aws = settings === undefined ? undefined : await connectAws(settings);
  const provider = providerFor({ client }, { ...options, aws });
  const { signal } = new AbortController();
  await provider.start?.([], signal);
  const { items } = await client.list(serviceKind);
  const alive = new Set(items.map(({ metadata }) => metadata.uid));
  // One that came meanwhile is not in the list: those are asked for by name.
  const suspects = (await provider.list(signal)).filter(({ uid }) => !alive.has(uid));
  const orphans = await findOrphans(suspects, client);
  if (orphans.length === 0) {
    streams.out(`every load balancer of ${provider.name} has its Service\n`);
    return 0;
  }
  const rows = orphans.map(({ namespace, name, uid }) => [`${namespace}/${name}`, uid]);
  streams.out(`${columns([['SERVICE THAT IS GONE', 'UID'], ...rows]).join('\n')}\n`);
  return 1;
}
