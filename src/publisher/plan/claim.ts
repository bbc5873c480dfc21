// One object → the record sets that it claims.
import { canonicalAddress, dashed } from '../../api/addresses.ts';
import type { ExposedPort, Exposure } from '../../api/kinds/core/service/exposure.ts';
import { exposedPorts, loadBalancerExposure } from '../../api/kinds/core/service/exposure.ts';
import { hasClusterIp, isExternalName, isHeadless } from '../../api/kinds/core/service/facts.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import { isReady, portNumberIn } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { Endpoint, EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import type { ClusterTargets } from '../../api/kinds/multicluster/publication.ts';
import { parsePublication, publicationAnnotation } from '../../api/kinds/multicluster/publication.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { Name } from '../../dnswire/data.ts';
import { printName } from '../../dnswire/name.ts';
import type { Publication } from './annotations.ts';
import { publicationOf } from './annotations.ts';
import { exposedNodes, nodeAddresses } from './nodes.ts';
import type { Properties, RecordSet } from './record-set.ts';
import { recordSet } from './record-set.ts';
import { isEncodable, isWildcard, parseHostname } from './zones.ts';

/** Why a claim of an object is not published. */
export interface Refusal {
  /** The reason of the Event. */
  readonly reason:
    | 'InvalidHostname'
    | 'InvalidAnnotation'
    | 'HostnameNotInZone'
    | 'HostnameTaken'
    | 'NotExposed'
    /** The object has no target yet, which is no error. */
    | 'Pending'
    | 'ConflictingTargets'
    | 'TooManyRecords'
    | 'NotOwned'
    | 'UpdateFailed';
  readonly message: string;
}

/** A set, and the host name that it belongs to, such as that of an SRV record; undefined: it is at the host name itself. */
export interface ClaimedSet extends RecordSet {
  readonly hostname?: Name;
}

/** The claim of one object. */
export interface Claim {
  /** As in registry records: `service/shop/cart`. */
  readonly resource: string;
  readonly namespace: string;
  /** When the object was created: the oldest keeps a name that several claim. */
  readonly since: string;
  /** Those at a host name precede those that belong to it. */
  readonly sets: readonly ClaimedSet[];
  readonly refusals: readonly Refusal[];
  /** What is published of the object stays as it is: nothing is known of its targets now, or it claims too much. */
  readonly isKept?: true;
  /** Settings for webhook providers. */
  readonly properties: Properties;
}

/** What a claim depends on beside its object. */
export interface Surroundings {
  readonly slices: readonly EndpointSlice[];
  readonly nodes: readonly Node[];
  /** TTL of sets without an annotation. */
  readonly ttl: number;
}

/** The claim of a Service; undefined: it has none. */
export function claimOfService(service: Service, around: Surroundings): Claim | undefined {
  const publication = publicationOf(service.metadata.annotations);
  if (publication === undefined) return undefined;
  const builder = new ClaimBuilder(service, 'service', { publication, ttl: around.ttl });
  const hostnames = builder.hostnames(publication.hostnames);
  if (isHeadless(service) && publication.targets.length === 0 && !isExternalName(service)) {
    const endpoints = endpointsOf(service, { around, publication });
    for (const name of hostnames) builder.addEndpoints(name, endpoints);
  } else {
    const exposure = exposureOf(service, { publication, around });
    for (const name of hostnames) builder.addExposure(name, exposure, notExposed(service));
  }
  const internal = internalExposure(service);
  for (const name of builder.hostnames(publication.internalHostnames))
    builder.addExposure(name, internal, { reason: 'Pending', message: 'it has no cluster IP' });
  return builder.claim();
}

/** The claim of an import with a public name; undefined: it has none. */
export function claimOfImport(imported: ApiObject, around: Surroundings): Claim | undefined {
  const text = imported.metadata.annotations?.[publicationAnnotation];
  const merged = text === undefined ? undefined : parsePublication(text);
  if (merged === undefined) return undefined;
  const annotations = {
    'fairlead.dev/hostname': merged.hostname,
    ...(merged.ttl && { 'fairlead.dev/ttl': merged.ttl }),
  };
  const publication = publicationOf(annotations);
  if (publication === undefined) return undefined;
  const builder = new ClaimBuilder(imported, 'serviceimport', { publication, ttl: around.ttl });
  // The reaper removes the slices of a cluster whose lease expired, and the targets of the cluster go with them. If only lost
  // clusters have targets, what is published stays: the last target must not disappear because clusters cannot be reached.
  const present = new Set(around.slices.map(({ metadata }) => metadata.labels?.[sourceClusterLabel]));
  const hasTargets = ({ targets }: ClusterTargets): boolean => targets.length > 0;
  const clusters = merged.clusters.filter(({ cluster }) => present.has(cluster));
  if (!clusters.some(hasTargets) && (clusters.length === 0 || merged.clusters.some(hasTargets)))
    return { ...builder.claim(), isKept: true };
  const exposure = {
    ...targetsOf(clusters.flatMap(({ targets }) => targets)),
    ports: clusters.flatMap(({ ports }) => ports),
  };
  for (const name of builder.hostnames(publication.hostnames))
    builder.addExposure(name, exposure, {
      reason: 'Pending',
      message: 'no exporting cluster has a load balancer address',
    });
  return builder.claim();
}

/** Splits targets into addresses and host names. */
function targetsOf(targets: readonly string[]): Pick<Exposure, 'addresses' | 'hostnames'> {
  const addresses = targets.flatMap((target) => canonicalAddress(target) ?? []);
  return { addresses, hostnames: targets.filter((target) => canonicalAddress(target) === undefined) };
}

interface Given {
  readonly publication: Publication;
  readonly around: Surroundings;
}

function exposureOf(service: Service, { publication, around }: Given): Exposure {
  const own = ownExposure(service, { publication, around });
  return publication.targets.length === 0 ? own : { ...own, ...targetsOf(publication.targets) };
}

const nothing: Exposure = { addresses: [], hostnames: [], ports: [] };

function ownExposure(service: Service, { publication, around }: Given): Exposure {
  const { spec } = service;
  const balanced = loadBalancerExposure(service);
  if (spec.type === 'LoadBalancer') return balanced;
  if (spec.type === 'NodePort') {
    const nodes = exposedNodes(service, around);
    return {
      addresses: nodeAddresses(nodes, publication.access),
      hostnames: [],
      ports: exposedPorts(service, ({ nodePort }) => nodePort),
    };
  }
  const isReached = balanced.addresses.length > 0 || publication.targets.length > 0;
  if (isReached) return balanced; // external IPs, or targets that the user names
  return isExternalName(service) ? { ...nothing, hostnames: [spec.externalName ?? ''].filter(Boolean) } : nothing;
}

/** Why a Service has no target. */
function notExposed({ spec: { type = 'ClusterIP' } }: Service): Refusal {
  if (type === 'LoadBalancer') return { reason: 'Pending', message: 'its load balancer has no address yet' };
  if (type === 'NodePort') return { reason: 'Pending', message: 'no node has an address to publish' };
  const message = `a Service of type ${type} is not reachable from outside: use LoadBalancer or NodePort, or the annotation target`;
  return { reason: 'NotExposed', message };
}

const internalExposure = (service: Service): Exposure => ({
  addresses: hasClusterIp(service) ? (service.spec.clusterIPs ?? [service.spec.clusterIP ?? '']) : [],
  hostnames: [],
  ports: exposedPorts(service, ({ port }) => port),
});

/** A ready endpoint of a headless service. */
interface PublishedEndpoint {
  readonly addresses: readonly string[];
  readonly hostname: string | undefined;
}

/** The endpoints of one slice and the ports they serve. */
interface PublishedEndpoints {
  readonly endpoints: readonly PublishedEndpoint[];
  readonly ports: readonly ExposedPort[];
}

function endpointsOf(service: Service, { around, publication }: Given): readonly PublishedEndpoints[] {
  const { endpointsType } = publication;
  const own = ({ addresses }: Endpoint): readonly string[] =>
    (addresses ?? []).flatMap((address) => canonicalAddress(address) ?? []);
  if (endpointsType === undefined) return around.slices.map((slice) => endpointsIn(slice, service, own));
  const access = endpointsType === 'NodeExternalIP' ? 'public' : 'private';
  const nodes = new Map(around.nodes.map((node) => [node.metadata.name, node]));
  const ofNode = ({ nodeName = '' }: Endpoint): readonly string[] => {
    const node = nodes.get(nodeName);
    return node === undefined ? [] : nodeAddresses([node], access);
  };
  return around.slices.map((slice) => endpointsIn(slice, service, ofNode));
}

function endpointsIn(
  slice: EndpointSlice,
  service: Service,
  addressesOf: (endpoint: Endpoint) => readonly string[],
): PublishedEndpoints {
  const ready = slice.addressType === 'FQDN' ? [] : (slice.endpoints ?? []).filter(isReady);
  return {
    endpoints: ready.map((endpoint) => ({
      addresses: addressesOf(endpoint),
      hostname: endpoint.hostname?.toLowerCase(),
    })),
    // Clients connect to endpoints directly: their ports are those of the slice.
    ports: exposedPorts(service, (port) => portNumberIn(slice, port)),
  };
}

interface BuilderSettings {
  readonly publication: Publication;
  readonly ttl: number;
}

interface CollectedSet {
  readonly name: Name;
  readonly type: string;
  readonly hostname: Name;
  readonly values: string[];
}

/** The most records of one object. Its host names, ports and targets multiply, so that a small object can claim millions. */
const maxRecords = 20_000;

/** Collects the sets of one object. */
class ClaimBuilder {
  readonly #object: ApiObject;
  readonly #kind: string;
  readonly #publication: Publication;
  readonly #ttl: number;
  /** `name type` → its values. */
  readonly #values = new Map<string, CollectedSet>();
  readonly #refusals: Refusal[] = [];
  #records = 0;

  constructor(object: ApiObject, kind: string, { publication, ttl }: BuilderSettings) {
    this.#object = object;
    this.#kind = kind;
    this.#publication = publication;
    this.#ttl = publication.ttl ?? ttl;
    for (const message of publication.errors) this.#refuse('InvalidAnnotation', message);
  }

  /** The valid ones of the names that annotations list. */
  hostnames(texts: readonly string[]): readonly Name[] {
    return texts.flatMap((text) => {
      const parsed = parseHostname(text);
      if ('name' in parsed) return [parsed.name];
      this.#refuse('InvalidHostname', parsed.error);
      return [];
    });
  }

  /** Adds the addresses, or the alias, and the SRV records of a name. */
  addExposure(name: Name, { addresses, hostnames, ports }: Exposure, missing: Refusal): void {
    if (this.#isFull) return;
    const [first, ...more] = [...new Set(hostnames)];
    if (addresses.length === 0 && first === undefined)
      return this.#refuse(missing.reason, `${name} has no target: ${missing.message}`);
    if (addresses.length > 0) {
      for (const address of addresses) this.#add(name, addressType(address), address);
      if (first !== undefined)
        this.#refuseTargets(name, [first, ...more], `it has addresses, which an alias cannot join`);
    } else if (first !== undefined) {
      this.#add(name, 'CNAME', printName(first.toLowerCase()));
      if (more.length > 0) this.#refuseTargets(name, more, `a name can be an alias of one host only, here ${first}`);
    }
    // RFC 2782: the target of an SRV record must not be an alias.
    const targets = addresses.length > 0 ? [name] : hostnames.map((each) => each.toLowerCase());
    for (const port of ports) {
      for (const target of targets) this.#addSrv(name, port, target);
      if (this.#isFull) return;
    }
  }

  /** Adds all addresses of a headless service, a name for each endpoint, and SRV records to these. */
  addEndpoints(name: Name, slices: readonly PublishedEndpoints[]): void {
    const hasEndpoints = slices.some(({ endpoints }) => endpoints.some(({ addresses }) => addresses.length > 0));
    if (!hasEndpoints) this.#refuse('Pending', `${name} has no target: no endpoint is ready`);
    for (const { endpoints, ports } of slices) {
      const hasSrv = ports.some(({ label }) => label !== '') && !isWildcard(name);
      for (const { addresses, hostname } of endpoints) {
        if (this.#isFull) return;
        for (const address of addresses) {
          this.#add(name, addressType(address), address);
          if (hostname === undefined && !hasSrv) continue;
          const own = `${hostname ?? dashed(address)}.${name}`;
          if (!isEncodable(own) || isWildcard(name)) continue;
          this.#add(own, addressType(address), address, name);
          for (const port of ports) this.#addSrv(name, port, own);
        }
      }
    }
  }

  claim(): Claim {
    const { namespace = '', name = '', creationTimestamp = '' } = this.#object.metadata;
    const claim = {
      resource: `${this.#kind}/${namespace}/${name}`,
      namespace,
      since: creationTimestamp,
      refusals: this.#refusals,
      properties: this.#publication.properties,
    };
    if (this.#isFull) {
      const message = `it claims more than ${maxRecords} records, of which none is changed: use fewer host names or ports`;
      return { ...claim, sets: [], refusals: [...claim.refusals, { reason: 'TooManyRecords', message }], isKept: true };
    }
    return {
      ...claim,
      sets: [...this.#values.values()].map(({ hostname, ...each }) => ({
        ...recordSet(each.name, each.type, { ttl: this.#ttl, values: each.values }),
        ...(hostname === each.name ? {} : { hostname }),
      })),
    };
  }

  get #isFull(): boolean {
    return this.#records > maxRecords;
  }

  /** A wildcard owns no SRV records: `*` is special only as the first label (RFC 4592 §2.1.1). */
  #addSrv(name: Name, { label, protocol, port }: ExposedPort, target: Name): void {
    const owner = `_${label}._${protocol.toLowerCase()}.${name}`;
    if (label === '' || isWildcard(name) || !isEncodable(owner)) return;
    this.#add(owner, 'SRV', `0 100 ${port} ${printName(target)}`, name);
  }

  #add(name: Name, type: string, value: string, hostname = name): void {
    if (++this.#records > maxRecords) return;
    const key = `${name} ${type}`;
    const known = this.#values.get(key);
    if (known === undefined) this.#values.set(key, { name, type, hostname, values: [value] });
    else known.values.push(value);
  }

  #refuseTargets(name: Name, targets: readonly string[], why: string): void {
    const more = targets.length > 3 ? ` and ${targets.length - 3} more` : '';
    this.#refuse('ConflictingTargets', `${name}: ${targets.slice(0, 3).join(', ')}${more} left out: ${why}`);
  }

  #refuse(reason: Refusal['reason'], message: string): void {
    this.#refusals.push({ reason, message });
  }
}

const addressType = (address: string): 'A' | 'AAAA' => (address.includes(':') ? 'AAAA' : 'A');
