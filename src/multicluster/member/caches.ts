import { importKeysOf, serviceKeyOf } from '../../api/kinds/discovery/endpointslice/facts.ts';
import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import type { Namespace } from '../../api/kinds/core/namespace/schema.ts';
import { nodeKind } from '../../api/kinds/core/node/kind.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { serviceExportAlphaKind, serviceExportKind } from '../../api/kinds/multicluster/serviceexport/kind.ts';
import type { McsVersion, ServiceExport } from '../../api/kinds/multicluster/serviceexport/schema.ts';
import { serviceImportAlphaKind, serviceImportKind } from '../../api/kinds/multicluster/serviceimport/kind.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import type { SuperclusterExport } from '../../api/kinds/multicluster/supercluster/export.ts';
import { superclusterExportKind } from '../../api/kinds/multicluster/supercluster/export.ts';
import type { ImportedService } from '../../api/kinds/multicluster/supercluster/import.ts';
import { importedServiceKind } from '../../api/kinds/multicluster/supercluster/import.ts';
import { serviceCidrKind } from '../../api/kinds/networking/servicecidr/kind.ts';
import type { ServiceCidr } from '../../api/kinds/networking/servicecidr/schema.ts';
import type { Kind } from '../../api/kind.ts';
import { remoteGatewaysAnnotation } from '../../api/kinds/multicluster/gateway.ts';
import { sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import { sleep } from '../../client/clock.ts';
import type { Informer } from '../../client/informer.ts';
import type { InformersOptions } from '../../client/informers.ts';
import { Informers, withoutManagedFields } from '../../client/informers.ts';
import type { OptionalInformer } from '../../client/optional-informer.ts';
import type { Usage } from '../../client/limits.ts';
import { ObjectBudget } from '../../client/limits.ts';
import type { Key } from '../../client/key.ts';
import { nameFor } from '../../client/key.ts';
import { hasStatusCode } from '../../client/transport.ts';
import { isOurSlice } from '../project/labels.ts';
import type { ImportFields, McsApi } from '../record.ts';
import type { RemotePort } from '../vip/gateway-ports.ts';
import { importFieldsOf } from './import-fields.ts';
import type { SharedEndpoints } from './shared-endpoints.ts';

export interface CachesOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: InformersOptions['log'];
  readonly endpoints: SharedEndpoints;
  /** Whether to read nodes, if the cluster allows it; default false. */
  readonly readsNodes?: boolean | undefined;
  /** Limit of all cached objects. */
  readonly limit: Usage;
  /** Called when an API turns out to be served, a cache has synced, or the limit is exceeded or no longer is. */
  readonly onChange: () => void;
}

/** The kinds of the clusterset API in one version. */
interface ClustersetKinds {
  readonly version: McsVersion;
  readonly exports: Kind<ServiceExport>;
  readonly imports: Kind<ServiceImport>;
}

/** The newest version, in which everything is computed. */
const newestKinds: ClustersetKinds = { version: 'v1beta1', exports: serviceExportKind, imports: serviceImportKind };

/** The versions that a member may serve, newest first. They have the same fields and are views of the same objects. */
const clustersetVersions: readonly ClustersetKinds[] = [
  newestKinds,
  { version: 'v1alpha1', exports: serviceExportAlphaKind, imports: serviceImportAlphaKind },
];

/** Replaces a kind of the clusterset API by the version that a member serves. */
export function servedAs(kind: Kind, { exports, imports }: ClustersetKinds): Kind {
  if (kind === newestKinds.exports) return exports;
  return kind === newestKinds.imports ? imports : kind;
}

/** Indexes of slices: by exported Service, by import, by source cluster. */
type SliceIndex = 'service' | 'import' | 'source';

/** Whether a member serves the kinds of an API; `unknown` until it has answered. `deleted`: it did, and its caches are kept. */
type Serving = 'unknown' | 'served' | 'absent' | 'deleted';

const isMissing = (serving: Serving): boolean => serving === 'absent' || serving === 'deleted';

/** Intervals of discovery. An API may be installed later or in another version; a member without any is likely misconfigured. */
const discoveryMs = { unserved: 1000, normal: 30_000 };

/** The caches of a member: one watch per kind, whatever the number of services. */
export class MemberCaches {
  readonly superclusterExports: Informer<SuperclusterExport>;
  readonly serviceExports: Informer<ServiceExport>;
  readonly importedServices: Informer<ImportedService, 'source'>;
  readonly serviceImports: Informer<ServiceImport, 'source'>;
  readonly services: Informer<Service>;
  readonly slices: Informer<EndpointSlice, SliceIndex>;
  readonly namespaces: Informer<Namespace>;
  /** The service ranges of the cluster; empty if the server does not serve them. */
  readonly serviceCidrs: OptionalInformer<ServiceCidr>;
  /** Its nodes, if other clusters reach its Services by their ports; otherwise empty. */
  readonly nodes: Informer<Node>;
  readonly #options: CachesOptions;
  readonly #informers: Informers;
  readonly #serving: Record<McsApi, Serving> = { supercluster: 'unknown', clusterset: 'unknown' };
  /** Ends the wait for the next discovery. */
  readonly #wake: Record<McsApi, AbortController> = {
    supercluster: new AbortController(),
    clusterset: new AbortController(),
  };
  #areRangesKnown = false;
  #clustersetKinds = newestKinds;
  #importFields: ImportFields = {};

  constructor(options: CachesOptions) {
    this.#options = options;
    const informers = new Informers(options);
    this.#informers = informers;
    const limited = { budget: new ObjectBudget(options.limit), onExcess: options.onChange };
    /** The server may have lost the kinds of an API: discovers them at once. */
    const checked = (api: McsApi): { readonly onNotFound: () => void } => ({
      onNotFound: () => this.#wake[api].abort(),
    });
    this.superclusterExports = informers.of(superclusterExportKind, { ...limited, ...checked('supercluster') });
    this.serviceExports = informers.of(newestKinds.exports, {
      ...limited,
      ...checked('clusterset'),
      servedAs: () => this.#clustersetKinds.exports,
    });
    this.importedServices = informers.of<ImportedService, 'source'>(importedServiceKind, {
      ...limited,
      indexes: { source: ({ spec }) => clustersOf(spec) },
    });
    this.serviceImports = informers.of<ServiceImport, 'source'>(newestKinds.imports, {
      ...limited,
      indexes: { source: ({ status }) => clustersOf(status) },
      servedAs: () => this.#clustersetKinds.imports,
    });
    this.namespaces = informers.of(namespaceKind, limited);
    this.serviceCidrs = informers.optional([serviceCidrKind], limited);
    this.nodes = informers.of(nodeKind, { ...limited, trim: withoutImages });
    this.services = informers.of(serviceKind, limited);
    this.slices = informers.of<EndpointSlice, SliceIndex>(endpointSliceKind, {
      ...limited,
      trim: (slice) => options.endpoints.in(slice),
      indexes: { service: sourceOf, import: importKeysOf, source: sourceClusterOf },
    });
  }

  /** Keeps the caches filled until the signal fires. */
  async run(signal: AbortSignal): Promise<void> {
    this.#start(this.services, this.slices, this.namespaces);
    if (this.#options.readsNodes === true) this.#start(this.nodes);
    this.#informers.start(this.serviceCidrs);
    const rangesKnown = this.serviceCidrs.settled(signal).then(
      () => {
        this.#areRangesKnown = true;
        this.#options.onChange();
      },
      () => undefined, // stopped first
    );
    await Promise.all([rangesKnown, this.#followApi('supercluster', signal), this.#followApi('clusterset', signal)]);
    await this.#informers.stop();
  }

  /** Opens all watches again: a stream that outlived an interruption may be dead without an error. */
  reopen(): void {
    this.#informers.reopen();
  }

  /**
   * Whether everything has been read. A member that serves neither API is not synced: definitions that were deleted by
   * accident must not look like deleted exports. A member that serves one API has no exports of the other.
   */
  get isSynced(): boolean {
    return !this.#lacksBoth && this.isRead;
  }

  /** Whether the server is known to serve neither API. */
  get lacksKinds(): boolean {
    return this.#lacksBoth && this.isRead;
  }

  get #lacksBoth(): boolean {
    const { supercluster, clusterset } = this.#serving;
    return isMissing(supercluster) && isMissing(clusterset);
  }

  /** Grows while the member is read for the first time. */
  get progress(): number {
    const { services, slices, namespaces, superclusterExports, importedServices, serviceExports, serviceImports } =
      this;
    const read = [services, slices, namespaces, superclusterExports, importedServices, serviceExports, serviceImports];
    const known = Object.values(this.#serving).filter((serving) => serving !== 'unknown');
    return read.filter(({ hasSynced }) => hasSynced).length + known.length + (this.#areRangesKnown ? 1 : 0);
  }

  /** Whether everything that can exist has been read: of an API that is not served nothing can exist. */
  get isRead(): boolean {
    const { supercluster, clusterset } = this.#serving;
    if (this.excess !== undefined) return false;
    // Called for every member on every change of a service, so it must be cheap.
    return (
      this.#areRangesKnown &&
      this.services.hasSynced &&
      this.slices.hasSynced &&
      this.namespaces.hasSynced &&
      (this.#options.readsNodes !== true || this.nodes.hasSynced) &&
      (supercluster === 'absent' || (this.superclusterExports.hasSynced && this.importedServices.hasSynced)) &&
      (clusterset === 'absent' || (this.serviceExports.hasSynced && this.serviceImports.hasSynced))
    );
  }

  /** Resolves when the large kinds, which every server serves, have been read. Rejects when the signal fires first. */
  async read(signal: AbortSignal): Promise<void> {
    await Promise.all([this.services, this.slices, this.namespaces].map((cache) => cache.synced(signal)));
  }

  /** Why the caches are outdated: the member exceeds its limit. */
  get excess(): Error | undefined {
    const { services, slices, namespaces, superclusterExports, importedServices, serviceExports, serviceImports } =
      this;
    const ofEach = services.excess ?? slices.excess ?? namespaces.excess ?? this.nodes.excess;
    return (
      ofEach ?? superclusterExports.excess ?? importedServices.excess ?? serviceExports.excess ?? serviceImports.excess
    );
  }

  serves(api: McsApi): boolean {
    return this.#serving[api] === 'served' || this.#serving[api] === 'deleted';
  }

  /** The version of the clusterset API that is read and written. */
  get clustersetKinds(): ClustersetKinds {
    return this.#clustersetKinds;
  }

  /** The fields that the server stores of a ServiceImport in that version. */
  get importFields(): ImportFields {
    return this.#importFields;
  }

  #start(...caches: readonly Pick<Informer<ServiceExport>, 'run' | 'synced'>[]): void {
    this.#informers.start(...caches);
    for (const cache of caches) void cache.synced().then(this.#options.onChange); // never rejects without a signal
  }

  /**
   * Starts the caches of an API when it is served, and keeps following what is served: a member may be upgraded.
   * Definitions that are deleted change nothing in the caches: their objects must not look deleted.
   */
  async #followApi(api: McsApi, signal: AbortSignal): Promise<void> {
    const { clock, onChange } = this.#options;
    const caches =
      api === 'supercluster'
        ? [this.superclusterExports, this.importedServices]
        : [this.serviceExports, this.serviceImports];
    while (!signal.aborted) {
      this.#wake[api] = new AbortController();
      const found = await this.#discover(api, signal);
      const before = this.#serving[api];
      const now = found === 'absent' && this.serves(api) ? 'deleted' : (found ?? before);
      this.#serving[api] = now;
      if (now === 'served' && before !== 'served') this.#start(...caches);
      if (now !== before) onChange();
      const isNormal = now !== 'unknown' && Object.values(this.#serving).includes('served');
      const wake = AbortSignal.any([signal, this.#wake[api].signal]);
      await sleep(clock, isNormal ? discoveryMs.normal : discoveryMs.unserved, wake);
    }
  }

  /** Whether an API is served now; undefined: discovery failed, which does not mean that it is absent. */
  async #discover(api: McsApi, signal: AbortSignal): Promise<Serving | undefined> {
    try {
      const isServed =
        api === 'supercluster' ? await this.#isServed(superclusterExportKind, signal) : await this.#useNewest(signal);
      return isServed ? 'served' : 'absent';
    } catch (error) {
      if (!signal.aborted) this.#options.log.debug({ api, err: error }, 'discovery failed, retrying');
      return undefined;
    }
  }

  /** Uses the newest version of the clusterset API that is served, and returns whether there is one. Caches stay valid. */
  async #useNewest(signal: AbortSignal): Promise<boolean> {
    for (const kinds of clustersetVersions) {
      if (!(await this.#isServed(kinds.exports, signal))) continue;
      this.#importFields = await importFieldsOf(this.#options.client, kinds.imports, signal);
      const isOther = kinds !== this.#clustersetKinds;
      this.#clustersetKinds = kinds;
      if (isOther) this.reopen();
      return true;
    }
    return false;
  }

  async #isServed({ group, version }: Kind, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#options.client.read(`/apis/${group}/${version}`, { signal });
      return true;
    } catch (error) {
      if (hasStatusCode(error, 404)) return false;
      throw error;
    }
  }
}

/** The images of nodes are large. */
const withoutImages = (node: Node): Node => withoutManagedFields({ ...node, status: { ...node.status, images: [] } });

/** The Service of a slice; none if this controller has written the slice. */
export function sourceOf(slice: EndpointSlice): readonly Key[] {
  const key = serviceKeyOf(slice);
  return key === undefined || isOurSlice(slice) ? [] : [key];
}

/** The source cluster of a slice that this controller has written. */
const sourceClusterOf = (slice: EndpointSlice): readonly string[] =>
  isOurSlice(slice) ? [slice.metadata.labels?.[sourceClusterLabel] ?? ''] : [];

/** The ports of the gateways of this cluster in the slices that this controller has written. */
export function* gatewayPortsIn(slices: readonly EndpointSlice[]): Generator<readonly [RemotePort, number]> {
  for (const slice of slices) {
    const [cluster] = sourceClusterOf(slice);
    const [key] = importKeysOf(slice);
    if (cluster === undefined || key === undefined) continue;
    if (slice.metadata.annotations?.[remoteGatewaysAnnotation] === undefined) continue;
    const { namespace = '', name } = nameFor(key);
    for (const { name: port = '', protocol = 'TCP', port: number = 0 } of slice.ports ?? [])
      yield [{ cluster, namespace, name, port, protocol }, number];
  }
}

/** The source clusters in an import. */
const clustersOf = (listed: { readonly clusters?: readonly { readonly cluster: string }[] } = {}): readonly string[] =>
  (listed.clusters ?? []).map(({ cluster }) => cluster);
