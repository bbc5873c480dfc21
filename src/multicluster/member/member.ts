import { importKeysOf } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { Kind } from '../../api/kind.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { serviceExportKind } from '../../api/kinds/multicluster/serviceexport/kind.ts';
import type { ServiceExport } from '../../api/kinds/multicluster/serviceexport/schema.ts';
import { serviceImportKind } from '../../api/kinds/multicluster/serviceimport/kind.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import type { SuperclusterExport } from '../../api/kinds/multicluster/supercluster/export.ts';
import { superclusterExportKind } from '../../api/kinds/multicluster/supercluster/export.ts';
import type { ImportedService } from '../../api/kinds/multicluster/supercluster/import.ts';
import { importedServiceKind } from '../../api/kinds/multicluster/supercluster/import.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import { sleep, systemClock } from '../../client/clock.ts';
import { EventRecorder } from '../../client/events.ts';
import type { InformersOptions } from '../../client/informers.ts';
import { withoutManagedFields } from '../../client/informers.ts';
import type { Key } from '../../client/key.ts';
import { keyFor, nameFor } from '../../client/key.ts';
import { Semaphore } from '../../machine/semaphore.ts';
import { AcceptedSlices } from '../guard/addresses.ts';
import type { MemberRanges } from '../guard/reserved-ranges.ts';
import { lossPolicyOf } from '../loss.ts';
import { Memory } from '../project/memory.ts';
import { derivedName } from '../project/marks.ts';
import type { Actual, Write } from '../project/desired.ts';
import type { ExportRecord, MemberFacts } from '../record.ts';
import { MemberCaches } from './caches.ts';
import { servedAs } from './current-kinds.ts';
import { withDeadline } from './deadline.ts';
import { followMember } from './events.ts';
import type { MemberListener, UnseenWrites } from './events.ts';
import { Notices } from './notices.ts';
import type { MemberOptions, ProbeTimes } from './options.ts';
import { defaultMemberLimit, defaultSourceLeaseMs, probeTimesOf } from './options.ts';
import { HealthProbe } from './health-probe.ts';
import { SharedEndpoints } from './shared-endpoints.ts';
import { Unseen } from './unseen.ts';

export interface MemberSetup extends MemberOptions {
  /** The connection that is this member's identity; closed with it. */
  readonly client: Client;
  readonly listener: MemberListener;
  /** One for all members that are read together; default one of its own. */
  readonly endpoints?: SharedEndpoints | undefined;
  /** Limits how many members are read at once; see `readPermits`. */
  readonly permits?: Semaphore | undefined;
  readonly log: InformersOptions['log'];
  readonly probeTimes?: ProbeTimes | undefined;
  readonly clock?: Clock | undefined;
}

/** Who says what Events say. */
const component = 'fairlead-multicluster';

/** Members read at once: a hundred would keep the process so busy that it renews no lease and handles no probe meanwhile. */
export const readPermits = 24;

/** A member that is slow to read releases its permit after this. */
const longestPermitMs = 5000;

/** What takes longer than this has failed, whatever became of it. */
const answerMs = 15_000;

/** One cluster of the set, over its own connection: what it exports, what it holds, whether it answers. */
export class Member implements AsyncDisposable {
  readonly options: MemberOptions;
  readonly client: Client;
  readonly caches: MemberCaches;
  readonly probe: HealthProbe;
  /** What is known of the addresses in its slices, so that a change of one slice costs one. */
  readonly accepted = new AcceptedSlices();
  /** Likewise of the slices that are mirrored into it. */
  readonly memory = new Memory();
  readonly notices: Notices;
  readonly #clock: Clock;
  readonly #unseen: UnseenWrites;
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>;

  constructor({
    client,
    listener,
    endpoints = new SharedEndpoints(),
    permits = new Semaphore(readPermits),
    log,
    probeTimes = probeTimesOf(defaultSourceLeaseMs),
    clock = systemClock,
    ...options
  }: MemberSetup) {
    this.options = options;
    this.client = client;
    this.#clock = clock;
    const firstAnswer = Promise.withResolvers<void>();
    this.probe = new HealthProbe({
      ...probeTimes,
      client,
      clock,
      onChange: (isBack) => {
        if (isBack) this.caches.reopen();
        firstAnswer.resolve();
        listener.state();
      },
    });
    this.caches = new MemberCaches({
      client,
      clock,
      endpoints,
      limit: options.limit ?? defaultMemberLimit,
      log,
      onChange: () => listener.state(),
    });
    const events = new EventRecorder({
      client,
      clock,
      component,
      onError: (error) => log.debug({ err: error }, 'could not write an Event'),
    });
    this.notices = new Notices((kind, ...rest) => events.record(servedAs(kind, this.caches.currentKinds), ...rest));
    this.#unseen = {
      seedExports: new Unseen<SuperclusterExport>(clock),
      currentExports: new Unseen<ServiceExport>(clock),
      importedServices: new Unseen<ImportedService>(clock),
      serviceImports: new Unseen<ServiceImport>(clock),
      services: new Unseen<Service>(clock),
      slices: new Unseen<EndpointSlice>(clock, (slice) => importKeysOf(slice)[0] ?? ''),
    };
    followMember(this.caches, this.#unseen, listener, (key) => this.isExported(key));
    const { signal } = this.#stop;
    this.#running = Promise.all([this.probe.run(signal), this.#read(firstAnswer.promise, permits)]);
    signal.addEventListener('abort', () => firstAnswer.resolve(), { once: true });
  }

  /** Fills the caches after the first answer to a probe. A member that is slow to read does not keep its permit for long. */
  async #read(firstAnswer: Promise<void>, permits: Semaphore): Promise<void> {
    const { signal } = this.#stop;
    await firstAnswer;
    if (signal.aborted) return;
    try {
      await permits.acquire((cancel) => signal.addEventListener('abort', () => cancel(signal.reason), { once: true }));
    } catch {
      return; // stopped while it waited
    }
    const running = this.caches.run(signal);
    const isRead = this.caches.read(signal).catch(() => undefined);
    await Promise.race([isRead, sleep(this.#clock, longestPermitMs, signal)]);
    permits.release();
    await running;
  }

  get id(): string {
    return this.options.id;
  }

  /** It answers and all of it has been read: it can be written to. */
  get isReady(): boolean {
    return this.probe.state === 'alive' && this.caches.isSynced;
  }

  /** It is known how it is: it is ready, or it does not answer. */
  get isSettled(): boolean {
    return this.isReady || this.probe.state === 'silent' || this.probe.state === 'lost';
  }

  facts(): MemberFacts {
    const { caches, options, probe } = this;
    return {
      id: options.id,
      uid: probe.uid,
      isSynced: caches.isSynced,
      isConnected: probe.state === 'alive',
      // A cluster that leaves is to hold nothing, wherever that is.
      namespaces: { has: (name) => options.isLeaving !== true && this.hasNamespace(name) },
      serves: { seed: caches.serves('seed'), current: caches.serves('current') },
      currentVersion: caches.currentKinds.version,
      importFields: caches.importFields,
      hasStockProxy: options.vips === undefined,
      acceptsRelaxedNames: options.acceptsRelaxedNames ?? true,
      keepsSrvNames: options.keepsSrvNames ?? false,
    };
  }

  /** Whether something can be in a namespace. */
  hasNamespace(name: string): boolean {
    const namespace = this.caches.namespaces.get(name);
    // Nothing can be created any more in one that is about to go.
    return namespace !== undefined && namespace.metadata.deletionTimestamp === undefined;
  }

  /**
   * Whether a service can have anything to do with this cluster: without its namespace there is nothing of it and is to be
   * nothing (MCS-109). One that has not been read may have everything.
   */
  concerns(key: Key): boolean {
    return !this.caches.isSynced || this.caches.namespaces.get(nameFor(key).namespace ?? '') !== undefined;
  }

  /** Where it has addresses, as far as that is known. */
  get addressRanges(): MemberRanges {
    const { id, policy, vips } = this.options;
    return {
      id,
      endpointRanges: policy?.endpointRanges,
      serviceRanges: this.caches.serviceCidrs.list().flatMap(({ spec }) => spec.cidrs ?? []),
      importRanges: vips?.cidrs ?? [],
    };
  }

  /** Whether there is an export of either shape. */
  isExported(key: Key): boolean {
    return this.caches.seedExports.get(key) !== undefined || this.caches.currentExports.get(key) !== undefined;
  }

  /** The namespaces in which it exports something. */
  get exportedNamespaces(): ReadonlySet<string> {
    const exports = [...this.caches.seedExports.list(), ...this.caches.currentExports.list()];
    return new Set(exports.map(({ metadata }) => metadata.namespace ?? ''));
  }

  /** What this cluster exports under a name; undefined: nothing. */
  record(key: Key): ExportRecord | undefined {
    const { caches } = this;
    const seedExport = one(this.#unseen.seedExports, key, caches.seedExports.get(key));
    const currentExport = one(this.#unseen.currentExports, key, caches.currentExports.get(key));
    if (seedExport === undefined && currentExport === undefined) return undefined;
    const { namespace = '', name } = nameFor(key);
    const slices = caches.slices.by('service', key);
    const service = caches.services.get(key);
    return {
      cluster: this.id,
      namespace,
      name,
      seedExport,
      currentExport,
      service,
      slices,
      region: this.options.region,
      onLoss: lossPolicyOf(
        [seedExport, currentExport].filter((each) => each !== undefined),
        this.options.onLoss,
      ),
    };
  }

  /** What this cluster holds of a service, our own writes included. */
  actual(key: Key): Actual {
    const { caches } = this;
    const { namespace = '', name } = nameFor(key);
    const derivedKey = keyFor({ namespace, name: derivedName({ namespace, name }) });
    return {
      importedService: one(this.#unseen.importedServices, key, caches.importedServices.get(key)),
      serviceImport: one(this.#unseen.serviceImports, key, caches.serviceImports.get(key)),
      derivedService: one(this.#unseen.services, derivedKey, caches.services.get(derivedKey)),
      slices: this.#unseen.slices.latest(key, caches.slices.by('import', key)),
    };
  }

  /** Any slice by its name: one whose labels were edited is not found by them. */
  slice(namespace: string, name: string): EndpointSlice | undefined {
    return this.caches.slices.get(keyFor({ namespace, name }));
  }

  /** Makes one write; what it left is in `record` and `actual` at once. Throws what the server refuses. */
  async apply(write: Write, signal: AbortSignal): Promise<void> {
    if (this.options.isReadOnly === true) throw new Error(`bug: cluster ${this.id} is not ours to write to`);
    await this.ask(signal, (deadline) => this.#apply(write, { signal: deadline }));
  }

  /** Asks the server something and waits for the answer, but not for as long as a connection may hang. */
  ask<T>(signal: AbortSignal, question: (deadline: AbortSignal) => Promise<T>): Promise<T> {
    return withDeadline({ signal, ms: answerMs, clock: this.#clock }, question);
  }

  async #apply(write: Write, options: { readonly signal: AbortSignal }): Promise<void> {
    const { object, verb } = write;
    const kind = servedAs(write.kind, this.caches.currentKinds);
    await this.#unseenOf(write.kind).write(object, async () => {
      if (verb !== 'delete') return withoutManagedFields(await this.client[verb](kind, object, options));
      const { namespace, name = '' } = object.metadata;
      await this.client.delete(kind, { namespace, name }, { ...options, preconditions: write.preconditions });
      return undefined;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.client[Symbol.dispose]();
  }

  #unseenOf(kind: Kind): { write(object: ApiObject, make: () => Promise<ApiObject | undefined>): Promise<void> } {
    switch (kind) {
      case superclusterExportKind:
        return this.#unseen.seedExports;
      case serviceExportKind:
        return this.#unseen.currentExports;
      case importedServiceKind:
        return this.#unseen.importedServices;
      case serviceImportKind:
        return this.#unseen.serviceImports;
      case serviceKind:
        return this.#unseen.services;
      case endpointSliceKind:
        return this.#unseen.slices;
      default:
        throw new Error(`bug: a ${kind.kind} is not for a member`);
    }
  }
}

const one = <T extends ApiObject>(unseen: Unseen<T>, key: Key, cached: T | undefined): T | undefined =>
  unseen.latest(key, cached === undefined ? [] : [cached])[0];
