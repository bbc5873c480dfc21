import { text as readStream } from 'node:stream/consumers';

import { messageOf } from '../../api/error-message.ts';
import type { Gates } from '../../api/gates.ts';
import { gatesWith } from '../../api/gates.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { decode } from '../../api/schema/decode.ts';
import type { Manifest } from '../up/manifests.ts';
import { parseManifests, readManifests } from '../up/manifests.ts';
import { UsageError } from '../errors.ts';

/** The LoadBalancer Services of a file, a directory or, for `-`, of standard input; other objects are ignored. */
export async function readServices(path: string): Promise<readonly Service[]> {
  const manifests = path === '-' ? parseManifests(await readStream(process.stdin), 'standard input') : await read(path);
  const services = manifests.filter(({ apiVersion, kind }) => apiVersion === 'v1' && kind === 'Service').map(serviceIn);
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
function serviceIn({ object, source, name }: Manifest): Service {
  const service = decoded(object, source);
  const [problem] = serviceKind.validateCreate(service, { gates: allowing, loopbackEndpoints: [] });
  if (problem === undefined) return service;
  throw new UsageError(`${source}: Service "${name}" is invalid: ${problem.path}: ${problem.body}`);
}

/** The plan reports what a gate forbids. */
const allowing: Gates = gatesWith({ MixedProtocolLBService: true });

function decoded(object: unknown, source: string): Service {
  try {
    const { object: service, unknown } = decode<Service>(serviceKind.schema, object);
    if (unknown.length > 0) throw new UsageError(unknown.join(', '));
    return serviceKind.applyDefaults(service);
  } catch (error) {
    throw new UsageError(`${source}: ${messageOf(error)}`, { cause: error });
  }
}
