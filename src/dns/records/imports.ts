// Services of other clusters as records. Both shapes in which they come are read into one model (import-model.ts).
import { isReady } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { Endpoint, EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { RecordSet } from '../../dnswire/data.ts';
import { addressSets } from './addresses.ts';
import { addressesByName, endpointSrvSets, namedAddresses } from './endpoints.ts';
import type { ImportedSlice, ImportModel } from './import-model.ts';
import { emptyName } from './namespaces.ts';
import type { RecordOptions } from './options.ts';
import { serviceName, ttlOf } from './options.ts';
import type { SrvLabels } from './srv.ts';
import { srvRecord, srvSets } from './srv.ts';

/** What heeding `srvServiceName` means for an import. */
const labelsOf = ({ labels }: ImportModel, options: RecordOptions): SrvLabels | undefined =>
  options.srvServiceNames === false ? undefined : labels;

/** The records that an import makes by itself: all of one with addresses of its own. */
export function importRecords(
  model: ImportModel,
  slices: readonly EndpointSlice[],
  options: RecordOptions,
): readonly RecordSet[] {
  if (model.kind === 'headless') return [];
  const owner = serviceName(model.name, model.namespace, model.zone);
  // Its addresses are still to come: it exists, and has nothing to say yet.
  if (model.ips.length === 0) return [emptyName(owner)];
  const ttl = ttlOf(options, 'stable');
  const ports = model.ports.map((port) => ({
    port: { ...port, ...srvNameIn(slices, port.name) },
    data: [srvRecord(port.port, owner)],
  }));
  return [...addressSets(owner, ttl, model.ips), ...srvSets(owner, ttl, { ports, labels: labelsOf(model, options) })];
}

/** Imports have no field for it, but the ports of their slices do (MCS-161). */
function srvNameIn(slices: readonly EndpointSlice[], portName = ''): { readonly srvServiceName?: string } {
  for (const { ports } of slices) {
    const srvServiceName = ports?.find(({ name = '' }) => name === portName)?.srvServiceName;
    if (srvServiceName) return { srvServiceName };
  }
  return {};
}

/**
 * The records that a slice of an import makes: those of a headless one, where an endpoint is called
 * `<hostname>.<cluster>.<service>`. Nothing is said of `<cluster>.<service>` itself, which is reserved. The way back is
 * not ours to tell: addresses of other clusters may be anybody's here.
 */
export function importSliceRecords(
  model: ImportModel,
  { slice, cluster }: ImportedSlice,
  options: RecordOptions,
): readonly RecordSet[] {
  if (model.kind === 'vip' || options.noEndpoints === true) return [];
  const owner = serviceName(model.name, model.namespace, model.zone);
  const ttl = ttlOf(options, 'moving');
  const publishesAll = cluster !== undefined && model.publishNotReady.has(cluster);
  const publishes = (endpoint: Endpoint): boolean => publishesAll || isReady(endpoint);
  const addresses = namedAddresses(slice, cluster === undefined ? owner : `${cluster}.${owner}`, {
    options,
    publishes,
  });
  const all = addressSets(
    owner,
    ttl,
    addresses.map(({ address }) => address),
  );
  // Without a cluster that can be written into a name there are no names to lead to.
  if (cluster === undefined) return all;
  const srv = endpointSrvSets(owner, ttl, { slice, addresses, labels: labelsOf(model, options) });
  return [...all, ...srv, ...addressesByName(addresses, ttl)];
}
