import type { Lease } from '../../api/kinds/coordination/lease/kind.ts';
import { leaseKind } from '../../api/kinds/coordination/lease/kind.ts';
import type { Clock } from '../../client/clock.ts';
import { sleep } from '../../client/clock.ts';
import { hasStatusCode } from '../../client/transport.ts';
import { withDeadline } from '../member/deadline.ts';
import type { PulseTimes } from '../member/options.ts';
import type { Member } from '../member/member.ts';
import { isOfCluster, leaseName, leaseNamespace, leaseSelector, renewed, sourceOfLease } from './lease.ts';

export interface RenewerOptions extends PulseTimes {
  readonly members: () => readonly Member[];
  /** Who renews. */
  readonly holder: string;
  readonly clock: Clock;
  readonly onError: (error: unknown, importer: string) => void;
  /** Somebody else renews the same leases. */
  readonly onCompany: () => void;
}

/** How often it is looked whether something is to be renewed: a read of a source is told this much later at most. */
const looksPerRenewal = 5;

/** As long as some member has not answered yet. */
const firstLooksMs = 200;

/** What a source is to an importing cluster; undefined: one of the two has not been read. */
type Use = 'imported' | 'unused' | undefined;

/** A lease as it was last written or read, and the answer of its source that it told of. */
interface Told {
  readonly lease: Lease;
  readonly confirmedAt: number;
}

/**
 * Renews, in every importing cluster, the leases of the source clusters that were read since: a lease that is renewed
 * says that its source answered a moment ago, and nothing else does (MCS-81). Each cluster has a lease in itself too, by
 * which its reaper tells the loss of the controller from the loss of a source. A source that answers and of which nothing
 * is imported has no lease: one that ran out would look like a loss.
 *
 * A controller that begins renews the leases that are there before it has read the clusters, which takes long where there
 * are many: their endpoints must not go meanwhile.
 */
export class Renewer {
  readonly #options: RenewerOptions;
  /** Importer → source → its lease. */
  readonly #leases = new WeakMap<Member, Map<string, Told>>();
  readonly #busy = new Map<string, Promise<void>>();

  constructor(options: RenewerOptions) {
    this.#options = options;
  }

  /** Renews until the signal fires. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, renewMs, members } = this.#options;
    while (!signal.aborted) {
      const sources = members().filter(({ pulse }) => pulse.state === 'alive');
      const exported = new Map(sources.map((source) => [source, source.exportedNamespaces]));
      for (const importer of members()) {
        // A member that is slow to take its leases keeps nobody from theirs.
        if (this.#busy.has(importer.id)) continue;
        const uses = Map.groupBy(sources, (source) => useOf(exported.get(source), source, importer));
        this.#begin(importer, uses, signal);
      }
      const isBeginning = members().some(({ pulse }) => pulse.state === 'unheard');
      const lookMs = renewMs / looksPerRenewal;
      await sleep(clock, isBeginning ? Math.min(lookMs, firstLooksMs) : lookMs, signal);
    }
    await Promise.all(this.#busy.values());
  }

  #begin(importer: Member, sources: ReadonlyMap<Use, readonly Member[]>, signal: AbortSignal): void {
    const work = this.#renewIn(importer, sources, signal)
      .catch((error: unknown) => {
        if (!signal.aborted) this.#options.onError(error, importer.id);
      })
      .finally(() => void this.#busy.delete(importer.id));
    this.#busy.set(importer.id, work);
  }

  /** Renews the leases of sources that are imported, or had a lease before it is known whether they are; ends those of others. */
  async #renewIn(importer: Member, sources: ReadonlyMap<Use, readonly Member[]>, signal: AbortSignal): Promise<void> {
    const { clock, durationMs } = this.#options;
    const { isLeaving = false, isReadOnly = false } = importer.options;
    if (importer.pulse.state !== 'alive' || isLeaving || isReadOnly) return;
    const inTime = <T>(work: (deadline: AbortSignal) => Promise<T>): Promise<T> =>
      withDeadline({ signal, ms: durationMs, clock }, work);
    const leases = this.#leases.get(importer) ?? (await inTime((deadline) => known(importer, deadline)));
    this.#leases.set(importer, leases);
    const unread = (sources.get(undefined) ?? []).filter(({ id }) => leases.has(id));
    for (const source of [...(sources.get('imported') ?? []), ...unread]) {
      const { confirmedAt, uid } = source.pulse;
      const last = leases.get(source.id);
      // A cluster that came under the id of another is refused by what its lease says, once that was read.
      if (last !== undefined && !isOfCluster(last.lease, uid)) continue;
      if (confirmedAt === undefined || (last !== undefined && last.confirmedAt >= confirmedAt)) continue;
      const lease = await inTime((deadline) => this.#write(importer, source, { last: last?.lease, signal: deadline }));
      leases.set(source.id, { lease, confirmedAt });
    }
    for (const { id } of sources.get('unused') ?? []) {
      const last = leases.get(id);
      if (last === undefined) continue;
      await inTime((deadline) => drop(importer, last.lease, deadline));
      leases.delete(id);
    }
  }

  async #write(
    importer: Member,
    { id: source, pulse: { uid } }: Member,
    { last, signal }: { readonly last: Lease | undefined; readonly signal: AbortSignal },
  ): Promise<Lease> {
    const { holder, durationMs, clock } = this.#options;
    const renewal = { source, uid, holder, durationMs, nowMs: clock.now() };
    const options = { signal };
    const { client } = importer;
    if (last !== undefined) {
      try {
        return await client.update(leaseKind, renewed(last, renewal), options);
      } catch (error) {
        // Deleted, or renewed by another controller: what is there now is renewed.
        if (!hasStatusCode(error, 404) && !hasStatusCode(error, 409)) throw error;
      }
    }
    const name = { namespace: leaseNamespace, name: leaseName(source) };
    const found = await client.find(leaseKind, name, options);
    if (last !== undefined && found !== undefined && found.spec.holderIdentity !== holder) this.#options.onCompany();
    return found === undefined
      ? client.create(leaseKind, renewed(undefined, renewal), options)
      : client.update(leaseKind, renewed(found, renewal), options);
  }
}

/** Whether a cluster has something of a source, or is about to. Others need no lease of it, which many are of many. */
function useOf(namespaces: ReadonlySet<string> = new Set(), source: Member, importer: Member): Use {
  const { id, options, caches } = source;
  const isImported =
    source === importer ||
    (options.isLeaving !== true && [...namespaces].some((name) => importer.hasNamespace(name))) ||
    importer.caches.slices.by('source', id).length > 0;
  if (isImported) return 'imported';
  return caches.isSynced && importer.caches.isSynced ? 'unused' : undefined;
}

/** The leases of sources that a cluster has. */
export async function leasesIn(member: Member, signal: AbortSignal): Promise<readonly Lease[]> {
  const selected = { namespace: leaseNamespace, labelSelector: leaseSelector };
  const { items } = await member.ask(signal, (deadline) =>
    member.client.list(leaseKind, { ...selected, signal: deadline }),
  );
  return items;
}

/** What is there when a controller begins: it was renewed by nobody that we know of. */
async function known(importer: Member, signal: AbortSignal): Promise<Map<string, Told>> {
  const leases = await leasesIn(importer, signal);
  return new Map(leases.map((lease) => [sourceOfLease(lease) ?? '', { lease, confirmedAt: -Infinity }]));
}

/** Deletes the leases in a cluster that are of none of the sources. */
export async function dropLeases(importer: Member, sources: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
  for (const lease of await leasesIn(importer, signal)) {
    const source = sourceOfLease(lease);
    if (source === undefined || sources.has(source)) continue;
    await drop(importer, lease, signal);
  }
}

/** Deletes a lease, if it is that one still. */
async function drop(member: Member, lease: Lease, signal: AbortSignal): Promise<void> {
  const { name = '', uid = '' } = lease.metadata;
  try {
    await member.ask(signal, (deadline) =>
      member.client.delete(
        leaseKind,
        { namespace: leaseNamespace, name },
        { signal: deadline, preconditions: { uid } },
      ),
    );
  } catch (error) {
    if (!hasStatusCode(error, 404) && !hasStatusCode(error, 409)) throw error;
  }
}
