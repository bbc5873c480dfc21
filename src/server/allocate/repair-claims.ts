import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { canonicalAddress, familyOf } from '../../api/addresses.ts';
import { timestamp } from '../../api/timestamp.ts';
import type { ServerContext } from '../context.ts';
import { addressClaim, addressPrefix, portClaim, portPrefix } from './claims.ts';

/**
 * Rewrites damaged claims of addresses and node ports from the Services that own them. A damaged claim without such a
 * Service stays, and its address or port cannot be allocated until the claim is deleted.
 */
export async function repairClaims(context: ServerContext): Promise<void> {
  const { store, watchCache, log } = context;
  const damaged = [...store.status().damaged.values()].filter(
    ({ key }) => key.startsWith(addressPrefix) || key.startsWith(portPrefix),
  );
  if (damaged.length === 0) return;
  const claims = new Map<string, string>();
  const services = watchCache.of(serviceKind);
  for (const { object } of services.range(services.prefix)) {
    // The cache of Services holds Services.
    for (const [key, value] of claimsOf(object as Service, context)) claims.set(key, value);
  }
  for (const { key, revision } of damaged) {
    const value = claims.get(key);
    if (value === undefined) continue;
    const { ok } = await store.commit([{ key, value, expect: revision }]);
    if (ok) log.warn({ key }, 'rewrote a damaged claim');
  }
}

/** The claims of a Service: key, value. */
function* claimsOf(service: Service, context: ServerContext): Generator<readonly [key: string, value: string], void> {
  const { clusterIPs = [], ports = [], healthCheckNodePort } = service.spec;
  for (const address of clusterIPs) {
    const ip = canonicalAddress(address);
    const family = familyOf(address);
    if (ip === undefined || family === undefined) continue; // `None`
    const made = { ip, family, uid: context.uid(), now: timestamp(context.clock()) };
    yield [addressPrefix + ip, addressClaim(service, made)];
  }
  for (const port of [healthCheckNodePort, ...ports.map(({ nodePort }) => nodePort)]) {
    if (port !== undefined && port !== 0) yield [`${portPrefix}${port}`, portClaim(service)];
  }
}
