// A member in memory, for tests of reconcilers: its exports and objects, and every write to it.
import { serviceExportKind } from '../../api/kinds/multicluster/serviceexport/kind.ts';
import { superclusterExportKind } from '../../api/kinds/multicluster/supercluster/export.ts';
import type { Kind } from '../../api/kind.ts';
import type { Lease } from '../../api/kinds/coordination/lease/kind.ts';
import type { Key } from '../../client/key.ts';
import { keyFor, nameFor } from '../../client/key.ts';
import { AcceptedSlices } from '../guard/addresses.ts';
import type { MemberOptions } from '../member/options.ts';
import type { Member } from '../member/member.ts';
import type { Actual, Write } from '../project/desired.ts';
import { MirrorCache } from '../project/mirror.ts';
import { afterWrites, emptyMember } from '../project/testing/actual.ts';
import type { ClusterExport } from '../record.ts';
import { member as factsOf, web } from './records.ts';

export const webKey = keyFor(web);

/** The state of a member; tests change it at any time. */
export class MemberInMemory {
  readonly id: string;
  readonly options: MemberOptions;
  readonly accepted = new AcceptedSlices();
  readonly mirrors = new MirrorCache();
  readonly probe: {
    state: Member['probe']['state'];
    uid: string;
    confirmedAt: number;
    isSlow: boolean;
    isSkewed: boolean;
  };
  /** Whether its caches have synced. */
  isSynced = true;
  readonly namespaces = new Set([web.namespace]);
  readonly exports = new Map<Key, ClusterExport>();
  readonly objects = new Map<Key, Actual>();
  /** `create EndpointSlice`, in order. */
  readonly writes: string[] = [];
  /** Runs before each write; throws to fail it. */
  onWrite: (write: Write) => void = () => undefined;
  /** The number of slices of a source, for the limit of deletions. */
  slicesOfSource = 1;
  /** The slices that a list request returns; default: those of the export. */
  listedSlices: ClusterExport['slices'] | undefined;
  /** The leases of sources in it. */
  leases: readonly Lease[] = [];

  constructor(id: string, options: Partial<MemberOptions> = {}) {
    this.id = id;
    this.options = { id, ...options };
    this.probe = { state: 'alive', uid: `${id}-uid`, confirmedAt: 0, isSlow: false, isSkewed: false };
  }

  /** A cast: reconcilers use no other fields. */
  get member(): Member {
    return this as unknown as Member;
  }

  get isReady(): boolean {
    return this.isSynced && this.probe.state === 'alive';
  }

  get caches() {
    const { isSynced } = this;
    const empty = { list: () => [], get: () => undefined, by: () => [] };
    return {
      isSynced,
      isRead: isSynced,
      lacksKinds: false,
      excess: undefined,
      serviceCidrs: empty,
      serviceImports: empty,
      importedServices: empty,
      superclusterExports: {
        list: () => [...this.exports.values()].flatMap(({ superclusterExport }) => superclusterExport ?? []),
      },
      serviceExports: { list: () => [...this.exports.values()].flatMap(({ serviceExport }) => serviceExport ?? []) },
      slices: {
        list: () => [],
        by: (index: string, key: string) =>
          index === 'source'
            ? Array.from({ length: this.slicesOfSource }, () => ({ metadata: {} }))
            : (this.exports.get(key)?.slices ?? []),
      },
    };
  }

  readonly exportEvents = { recordConditions: () => undefined, recordDropped: () => undefined };
  readonly addressRanges = { id: '', endpointRanges: undefined, serviceRanges: [], importRanges: [] };
  readonly client = {
    list: async ({ plural }: Kind) => ({ items: plural === 'leases' ? this.leases : this.#slicesOnServer() }),
  };

  facts() {
    const { id, isSynced, namespaces, options } = this;
    const isConnected = this.probe.state === 'alive';
    return factsOf(id, {
      labels: options.labels,
      uid: this.probe.uid,
      isSynced,
      isConnected,
      namespaces,
      hasStockProxy: options.vips === undefined,
    });
  }

  hasNamespace(name: string): boolean {
    return this.namespaces.has(name);
  }

  get exportedNamespaces(): ReadonlySet<string> {
    return new Set(Array.from(this.exports.values(), ({ namespace }) => namespace));
  }

  concerns(key: Key): boolean {
    return !this.isSynced || this.namespaces.has(nameFor(key).namespace ?? '');
  }

  isExported(key: Key): boolean {
    return this.exports.has(key);
  }

  record(key: Key): ClusterExport | undefined {
    return this.exports.get(key);
  }

  withAddresses(given: ClusterExport): ClusterExport {
    return given;
  }

  actual(key: Key): Actual {
    return this.objects.get(key) ?? emptyMember;
  }

  slice(): undefined {
    return undefined;
  }

  withTimeout<T>(signal: AbortSignal, work: (deadline: AbortSignal) => Promise<T>): Promise<T> {
    return work(signal);
  }

  async apply(write: Write): Promise<void> {
    this.onWrite(write);
    this.writes.push(`${write.verb} ${write.kind.kind}`);
    const isExport = write.kind === superclusterExportKind || write.kind === serviceExportKind;
    if (isExport) this.#writeExport(write);
    else this.objects.set(webKey, afterWrites(this.actual(webKey), [write]));
  }

  #slicesOnServer(): ClusterExport['slices'] {
    return this.listedSlices ?? this.exports.get(webKey)?.slices ?? [];
  }

  /** The writes since the last call. */
  takeWrites(): readonly string[] {
    return this.writes.splice(0);
  }

  #writeExport({ kind, object }: Write): void {
    const before = this.exports.get(webKey);
    if (before === undefined) return;
    const { deletionTimestamp, finalizers = [] } = object.metadata;
    const isGone = deletionTimestamp !== undefined && finalizers.length === 0;
    const field = kind === superclusterExportKind ? 'superclusterExport' : 'serviceExport';
    const after: ClusterExport = { ...before, [field]: isGone ? undefined : object };
    if (after.superclusterExport === undefined && after.serviceExport === undefined) this.exports.delete(webKey);
    else this.exports.set(webKey, after);
  }
}
