import { familyOf } from '../../api/addresses.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { ipAddressKind } from '../../api/kinds/networking/ipaddress/kind.ts';
import { timestamp } from '../../api/timestamp.ts';
import type { Entry, Write } from '../../store/store.ts';
import type { ServerContext } from '../context.ts';
import type { MissingClaim } from './claim-plan.ts';
import { planClaims } from './claim-plan.ts';
import { addressClaim, addressPrefix, portClaim, portPrefix } from './claims.ts';

/** How long a kube-apiserver may take to write a Service after its IPAddress. */
const graceMs = 60_000;

/** Rewrites damaged claims of addresses and node ports from the Services that own them. */
export async function repairDamagedClaims(context: ServerContext): Promise<void> {
  const isClaim = (key: string): boolean => key.startsWith(addressPrefix) || key.startsWith(portPrefix);
  if ([...context.store.status().damaged.keys()].some(isClaim)) await repairClaims(context);
}

/** Makes the claims in the store equal to those that the Services need. */
export async function repairClaims(context: ServerContext): Promise<void> {
  const { store, watchCache, log } = context;
  const services = watchCache.of(serviceKind);
  const items = services.range(services.prefix).filter(({ problem }) => problem === undefined);
  const isComplete = services.unreadable.size === 0;
  const objects = items.map(({ object }) => object as Service); // the cache of Services holds Services
  const { revision } = watchCache;
  const [addresses, ports] = await Promise.all(
    [addressPrefix, portPrefix].map((prefix) => store.range(prefix, { revision })),
  );
  const plan = planClaims(objects, [...(addresses?.entries ?? []), ...(ports?.entries ?? [])]);
  const { damaged } = store.status();
  for (const missing of plan.missing) {
    const expect = damaged.get(missing.key)?.revision ?? missing.current?.revision ?? 0;
    const { ok } = await store.commit([{ ...claimFor(missing, context), expect }]);
    if (ok) log.warn({ key: missing.key }, 'restored the claim of a Service');
  }
  // Services that cannot be read need their claims.
  for (const claim of isComplete ? plan.orphaned : []) {
    if (isNew(context, claim)) continue;
    const { ok } = await store.commit([{ key: claim.key, value: undefined, expect: claim.revision }]);
    if (ok) log.warn({ key: claim.key }, 'deleted the claim of a Service that does not need it');
  }
  for (const { key, services: owners } of plan.contested) {
    const names = owners.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    log.error({ key, services: names }, 'several Services have one address or node port: delete all but one');
  }
}

/** Whether the Service of an IPAddress may still be written. */
function isNew({ watchCache, clock }: ServerContext, { key }: Entry): boolean {
  const created = watchCache.of(ipAddressKind).get(key)?.object.metadata.creationTimestamp;
  return created !== undefined && clock() - Date.parse(created) < graceMs;
}

/** The claim of a Service, to write. */
export function claimFor(
  { key, service }: Pick<MissingClaim, 'key' | 'service'>,
  { uid, clock }: Pick<ServerContext, 'uid' | 'clock'>,
): Write & { readonly value: string } {
  if (key.startsWith(portPrefix)) return { key, value: portClaim(service) };
  const ip = key.slice(addressPrefix.length);
  return {
    key,
    value: addressClaim(service, { ip, family: familyOf(ip) ?? 'IPv4', uid: uid(), now: timestamp(clock()) }),
  };
}
