import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import { findOrphans } from '../../loadbalancer/controller/orphans.ts';
import type { LoadBalancerOptions } from '../../loadbalancer/loadbalancer.ts';
import { providerFor } from '../../loadbalancer/loadbalancer.ts';
import { UsageError } from '../errors.ts';
import type { AwsSettings } from './aws.ts';
import { connectAws } from './aws.ts';
import { columns } from '../../api/text.ts';
import type { ActionCall } from '../part/part.ts';

/** `fairlead loadbalancer orphans`: the load balancers of a cloud whose Services no longer exist. Exits with 1 if there are any. */
export async function showOrphans(
  { streams, connect }: Pick<ActionCall, 'streams' | 'connect'>,
  options: LoadBalancerOptions,
  settings: AwsSettings | undefined,
): Promise<number> {
  if (options.simulation === undefined && settings === undefined)
    throw new UsageError('no cloud to inspect: pass --provider aws or --simulate CLOUD');
  const client = await connect();
  const aws = settings === undefined ? undefined : await connectAws(settings);
  const provider = providerFor({ client }, { ...options, aws });
  const { signal } = new AbortController();
  await provider.start?.([], signal);
  const { items } = await client.list(serviceKind);
  const alive = new Set(items.map(({ metadata }) => metadata.uid));
  // A Service may have been created after the list was read: each suspect is read by name.
  const suspects = (await provider.list(signal)).filter(({ uid }) => !alive.has(uid));
  const orphans = await findOrphans(suspects, client);
  if (orphans.length === 0) {
    streams.out(`every load balancer of ${provider.name} has a Service\n`);
    return 0;
  }
  const rows = orphans.map(({ namespace, name, uid }) => [`${namespace}/${name}`, uid]);
  streams.out(`${columns([['DELETED SERVICE', 'UID'], ...rows]).join('\n')}\n`);
  return 1;
}
