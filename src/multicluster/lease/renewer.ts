import type { Lease } from '../../api/kinds/coordination/lease/kind.ts';
import { leaseKind } from '../../api/kinds/coordination/lease/kind.ts';
import type { Clock } from '../../client/clock.ts';
import { sleep } from '../../client/clock.ts';
import { isRefusal } from '../../client/transport.ts';
import { withDeadline } from '../member/deadline.ts';
import type { PulseTimes } from '../member/options.ts';
import type { Member } from '../member/member.ts';
import { leaseName, leaseNamespace, leaseSelector, renewed, sourceOfLease } from './lease.ts';

export interface RenewerOptions extends PulseTimes {
  readonly members: () => readonly Member[];
  /** Who renews. */
  readonly holder: string;
  readonly clock: Clock;
  readonly onError: (error: unknown, importer: string) => void;
}

/** How often it is looked whether something is to be renewed: a read of a source is told this much later at most. */
const looksPerRenewal = 5;

/**
 * Renews, in every importing cluster, the leases of the source clusters that were read since: a lease that is renewed
 * says that its source answered a moment ago, and nothing else does (MCS-81). Each cluster has a lease in itself too, by
 * which its reaper tells the loss of the controller from the loss of a source.
 */
export class Renewer {
  readonly #options: RenewerOptions;
  /** Importer and source → the lease as it was last written, and the read that it told of. */
  readonly #last = new Map<string, { readonly lease: Lease; readonly confirmedAt: number }>();
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
        const meant = sources.filter(
          (source) => source === importer || isImported(exported.get(source), source, importer),
        );
        this.#begin(importer, meant, signal);
      }
      await sleep(clock, renewMs / looksPerRenewal, signal);
    }
    await Promise.all(this.#busy.values());
  }

  #begin(importer: Member, sources: readonly Member[], signal: AbortSignal): void {
    const work = this.#renewIn(importer, sources, signal)
      .catch((error: unknown) => {
        if (!signal.aborted) this.#options.onError(error, importer.id);
      })
      .finally(() => void this.#busy.delete(importer.id));
    this.#busy.set(importer.id, work);
  }

  async #renewIn(importer: Member, sources: readonly Member[], signal: AbortSignal): Promise<void> {
    const { clock, durationMs } = this.#options;
    const { isLeaving = false, isReadOnly = false } = importer.options;
    if (!importer.isReady || isLeaving || isReadOnly) return;
    for (const source of sources) {
      const { confirmedAt } = source.pulse;
      if (confirmedAt === undefined) continue;
      const last = this.#last.get(`${importer.id} ${source.id}`);
      if (last !== undefined && last.confirmedAt >= confirmedAt) continue;
      const lease = await withDeadline({ signal, ms: durationMs, clock }, (deadline) =>
        this.#write(importer, source, { last: last?.lease, signal: deadline }),
      );
      this.#last.set(`${importer.id} ${source.id}`, { lease, confirmedAt });
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
        if (!isRefusal(error, 404) && !isRefusal(error, 409)) throw error;
      }
    }
    const name = { namespace: leaseNamespace, name: leaseName(source) };
    const found = await client.find(leaseKind, name, options);
    return found === undefined
      ? client.create(leaseKind, renewed(undefined, renewal), options)
      : client.update(leaseKind, renewed(found, renewal), options);
  }
}

/** Whether a cluster has something of a source, or is about to. Others need no lease of it, which many are of many. */
const isImported = (namespaces: ReadonlySet<string> = new Set(), { id, options }: Member, importer: Member): boolean =>
  (options.isLeaving !== true && [...namespaces].some((name) => importer.hasNamespace(name))) ||
  importer.caches.slices.by('source', id).length > 0;

/** The leases of sources that a cluster has. */
export async function leasesIn({ client }: Member, signal?: AbortSignal): Promise<readonly Lease[]> {
  return (await client.list(leaseKind, { namespace: leaseNamespace, labelSelector: leaseSelector, signal })).items;
}

/** Deletes the leases in a cluster that are of none of the sources. */
export async function dropLeases(importer: Member, sources: ReadonlySet<string>, signal?: AbortSignal): Promise<void> {
  for (const lease of await leasesIn(importer, signal)) {
    const source = sourceOfLease(lease);
    if (source === undefined || sources.has(source)) continue;
    const { name = '', uid = '' } = lease.metadata;
    await importer.client.delete(leaseKind, { namespace: leaseNamespace, name }, { signal, preconditions: { uid } });
  }
}
