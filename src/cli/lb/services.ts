import { text as readStream } from 'node:stream/consumers';

import { messageOf } from '../../api/error-message.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { serviceIn } from '../../loadbalancer/inspect.ts';
import type { Manifest } from '../up/manifests.ts';
import { parseManifests, readManifests } from '../up/manifests.ts';
import { UsageError } from '../errors.ts';

/** The LoadBalancer Services of a file, a directory or, for `-`, of standard input; other objects are ignored. */
export async function readServices(path: string): Promise<readonly Service[]> {
  const manifests = path === '-' ? parseManifests(await readStream(process.stdin), 'standard input') : await read(path);
  const services = manifests
    .filter(({ apiVersion, kind }) => apiVersion === 'v1' && kind === 'Service')
    .map(readService);
  const balanced = services.filter(({ spec }) => spec.type === 'LoadBalancer');
  if (balanced.length > 0) return balanced;
  const why =
    services.length > 0
      ? `${services.length === 1 ? '1 Service' : `${services.length} Services`}, but none of type LoadBalancer`
      : 'no Service';
  throw new UsageError(`there is ${why} in ${path === '-' ? 'standard input' : path}`);
}

async function read(path: string): Promise<readonly Manifest[]> {
  try {
    return await readManifests(path);
  } catch (error) {
    throw new UsageError(messageOf(error).replace(/^cannot read --apply /, 'cannot read -f '), { cause: error });
  }
}

/** A validated Service with its defaults. */
function readService({ object, source }: Manifest): Service {
  try {
    return serviceIn(object);
  } catch (error) {
    throw new UsageError(`${source}: ${messageOf(error)}`, { cause: error });
  }
}
