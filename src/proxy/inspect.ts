// Computes the routes of a node and their reasons without applying them, for `fairlead proxy routes`.
import type { Kind } from '../api/kind.ts';
import { nodeKind } from '../api/kinds/core/node/kind.ts';
import type { Node } from '../api/kinds/core/node/schema.ts';
import { serviceKind } from '../api/kinds/core/service/kind.ts';
import type { Service } from '../api/kinds/core/service/schema.ts';
import { endpointSliceKind } from '../api/kinds/discovery/endpointslice/kind.ts';
import type { EndpointSlice } from '../api/kinds/discovery/endpointslice/schema.ts';
import { serviceImportAlphaKind, serviceImportKind } from '../api/kinds/multicluster/serviceimport/kind.ts';
import type { ServiceImport } from '../api/kinds/multicluster/serviceimport/schema.ts';
import type { ImportedService } from '../api/kinds/multicluster/supercluster/import.ts';
import { importedServiceKind } from '../api/kinds/multicluster/supercluster/import.ts';
import { serviceCidrKind } from '../api/kinds/networking/servicecidr/kind.ts';
import type { ServiceCidr } from '../api/kinds/networking/servicecidr/schema.ts';
import type { ApiObject } from '../api/metadata.ts';
import { compareText } from '../api/order.ts';
import type { Client, Selection } from '../client/client.ts';
import { keyOf } from '../client/key.ts';
import { hasStatusCode } from '../client/transport.ts';
import { sliceOwners } from './controller/caches.ts';
import { machineAddresses, nodeNetwork, thisNode } from './controller/node.ts';
import type { ProxyOptions } from './options.ts';
import { routeOptionsOf } from './options.ts';
import { isOfOneImport } from './routes/derived.ts';
import type { RouteConflict } from './routes/conflict.ts';
import { importOwner } from './routes/import.ts';
import { proxyProtocolProblem } from './routes/proxy-protocol.ts';
import type { Route } from './routes/route.ts';
import type { RouteInput, RouteSource } from './routes/routes.ts';
import { routesOf } from './routes/routes.ts';
import { serviceOwner } from './routes/service.ts';
import { precedenceOf } from './routes/precedence.ts';
import { RoutingTable } from './routes/table.ts';
import type { Explanation } from './routes/why.ts';
import { why } from './routes/why.ts';

export type { ProxyOptions } from './options.ts';
export { conflictProblems } from './routes/conflict.ts';
export { reasonText, routeText, useText } from './routes/describe.ts';
export { placeText } from './routes/route.ts';

/** The routes of one Service or import. */
export interface InspectedOwner {
  /** `Service shop/web`, `Import shop/web`. */
  readonly owner: string;
  /** Without routes that another owner has. */
  readonly routes: readonly InspectedRoute[];
  /** Requests that are not met, each with the fix. */
  readonly problems: readonly string[];
  readonly explanation: Explanation;
}

/** A route, and why it is not served where that is known beforehand. */
export interface InspectedRoute extends Route {
  readonly unserved?: string;
}

export interface InspectOptions {
  readonly signal?: AbortSignal;
  /** Default: all namespaces. */
  readonly namespace?: string | undefined;
  /** The lowest port that the proxy may listen on; default: any. */
  readonly minPort?: number;
}

/** All routes of a node. */
export interface Inspection {
  readonly owners: readonly InspectedOwner[];
  readonly conflicts: readonly RouteConflict[];
}

/** Lists the objects of a cluster once and computes the routes of a proxy with these options. */
export async function inspect(
  client: Client,
  options: ProxyOptions,
  { signal, namespace, minPort = 1 }: InspectOptions = {},
): Promise<Inspection> {
  const selection = { namespace, signal };
  const [services, slices, nodes, imported, imports, serviceCidrs] = await Promise.all([
    listAllNamespaces(client, [serviceKind], selection),
    listOf(client, [endpointSliceKind], selection),
    listOf(client, [nodeKind], { signal, fieldSelector: `metadata.name=${options.nodeName}` }),
    listAllNamespaces(client, [importedServiceKind], selection),
    listAllNamespaces(client, [serviceImportKind, serviceImportAlphaKind], selection),
    listOf(client, [serviceCidrKind], { signal }),
  ]);
  const objects = { services, slices, node: nodes[0], imported, imports, serviceCidrs };
  return inspectObjects({ ...objects, machineAddresses: machineAddresses() }, options, { namespace, minPort });
}

/** The objects that routes are made of. */
export interface RoutedObjects {
  readonly services: readonly Service[];
  readonly slices: readonly EndpointSlice[];
  readonly imported: readonly ImportedService[];
  readonly imports: readonly ServiceImport[];
  readonly serviceCidrs: readonly ServiceCidr[];
  /** undefined: no Node in particular. */
  readonly node: Node | undefined;
  readonly machineAddresses: readonly string[];
}

/** Computes the routes of a proxy from objects. */
export function inspectObjects(
  { services, slices, imported, imports, serviceCidrs, node, machineAddresses: addresses }: RoutedObjects,
  options: ProxyOptions,
  { namespace, minPort = 1 }: Omit<InspectOptions, 'signal'> = {},
): Inspection {
  const nodeState = { node, machineAddresses: addresses, serviceCidrs, options };
  const rest = { node: thisNode(nodeState), options: routeOptionsOf(options) };
  const slicesByOwner = byOwner(slices);
  const table = new RoutingTable(nodeNetwork(nodeState));
  const inputs = new Map<string, RouteInput>();
  for (const [owner, source] of [...serviceSources(services), ...importSources(imported, imports)]) {
    const input = { ...source, slices: slicesByOwner.get(owner) ?? [], ...rest };
    inputs.set(owner, input);
    table.set(owner, routesOf(input), precedenceOf(input));
  }
  const routesByOwner = Map.groupBy(table.routes.values(), ({ owner }) => owner);
  const isShown = (owner: string): boolean => namespace === undefined || owner.includes(` ${namespace}/`);
  const owners = Array.from(inputs).flatMap(([owner, input]) => {
    if (!isShown(owner)) return [];
    const routes = (routesByOwner.get(owner) ?? []).map((route) => withPortCheck(route, minPort));
    const served = routes.filter(({ unserved }) => unserved === undefined);
    return [{ owner, routes, problems: problemsOf(input, routes), explanation: why(input, served) }];
  });
  const serviceByKey = byKey(services);
  return {
    owners: owners.sort((a, b) => compareText(a.owner, b.owner)),
    conflicts: table
      .conflicts()
      .filter(({ loser }) => isShown(loser))
      .filter((conflict) => !isOfOneImport(conflict, (key) => serviceByKey.get(key))),
  };
}

const withPortCheck = (route: Route, minPort: number): InspectedRoute =>
  route.port >= minPort ? route : { ...route, unserved: `port ${route.port} needs root or CAP_NET_BIND_SERVICE` };

/** Objects of all namespaces, because they can claim an address of a displayed one; of one namespace if the rest is forbidden. */
async function listAllNamespaces<T extends ApiObject>(
  client: Client,
  kinds: readonly Kind<T>[],
  { namespace, signal }: { readonly namespace: string | undefined; readonly signal: AbortSignal | undefined },
): Promise<readonly T[]> {
  try {
    const all = await listOf(client, kinds, { signal });
    if (all.length > 0 || namespace === undefined) return all;
  } catch (error) {
    if (namespace === undefined || !hasStatusCode(error, 403)) throw error;
  }
  return listOf(client, kinds, { namespace, signal });
}

type OwnedSource = readonly [owner: string, source: RouteSource];

const serviceSources = (services: readonly Service[]): readonly OwnedSource[] =>
  services.map((service) => [serviceOwner(keyOf(service)), { service }]);

/** Merges both API versions of an import. */
function importSources(
  imported: readonly ImportedService[],
  imports: readonly ServiceImport[],
): readonly OwnedSource[] {
  const [importedByKey, importsByKey] = [byKey(imported), byKey(imports)];
  return Array.from(new Set([...importedByKey.keys(), ...importsByKey.keys()]), (key) => [
    importOwner(key),
    { import: { key, imported: importedByKey.get(key), serviceImport: importsByKey.get(key) } },
  ]);
}

function problemsOf(input: RouteInput, routes: readonly Route[]): readonly string[] {
  const problem = 'service' in input ? proxyProtocolProblem(input.service, routes) : undefined;
  return problem === undefined ? [] : [problem.text];
}

/** The objects of the first kind that is served; none if no kind is. */
async function listOf<T extends ApiObject>(
  client: Client,
  kinds: readonly Kind<T>[],
  selection: Selection & { readonly signal: AbortSignal | undefined },
): Promise<readonly T[]> {
  for (const kind of kinds) {
    try {
      const { items } = await client.list(kind, selection);
      return items;
    } catch (error) {
      const isOptional = kind.group !== '' && kind.group !== endpointSliceKind.group;
      if (!isOptional || (!hasStatusCode(error, 404) && !hasStatusCode(error, 403))) throw error;
    }
  }
  return [];
}

const byKey = <T extends ApiObject>(objects: readonly T[]): ReadonlyMap<string, T> =>
  new Map(objects.map((object) => [keyOf(object), object]));

function byOwner(slices: readonly EndpointSlice[]): ReadonlyMap<string, readonly EndpointSlice[]> {
  const found = new Map<string, EndpointSlice[]>();
  for (const slice of slices) {
    for (const owner of sliceOwners(slice)) {
      const own = found.get(owner);
      if (own === undefined) found.set(owner, [slice]);
      else own.push(slice);
    }
  }
  return found;
}
