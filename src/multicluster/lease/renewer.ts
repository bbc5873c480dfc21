import type { Lease } from '../../api/kinds/coordination/lease/kind.ts';
import { leaseKind } from '../../api/kinds/coordination/lease/kind.ts';
import type { Clock } from '../../client/clock.ts';
import { sleep } from '../../client/clock.ts';
import { hasStatusCode } from '../../client/transport.ts';
import { withDeadline } from '../member/deadline.ts';
import type { ProbeTimes } from '../member/options.ts';
import type { Member } from '../member/member.ts';
import type { LeaseSource, RenewedLease } from './lease.ts';
import { leaseName, leaseNamespace, leaseSelector, planLeases, renewed, sourceOfLease } from './lease.ts';

export interface RenewerOptions extends ProbeTimes {
  readonly members: () => readonly Member[];
  /** The identity of this controller. */
  readonly holder: string;
  readonly clock: Clock;
  readonly onError: (error: unknown, importer: Member) => void;
  /** Called when another controller has renewed one of the leases. */
  readonly onOtherHolder: () => void;
}

/** How often per probe interval the sources are checked for answers. */
const checksPerRenewal = 5;

/** The interval of these checks until every member has answered or timed out. */
const startupCheckMs = 200;

/**
 * Renews the leases of source clusters in every importing cluster, after each answered probe of the source (MCS-81). Each
 * cluster has a lease in itself too: its expiry means for the reaper that the controller is lost and not a source. An unused
 * source has no lease, since an expired lease would be reported as a loss.
 *
 * After its start, a controller renews existing leases before it has read the clusters, which takes long in a large set.
 */
export class Renewer {
  readonly #options: RenewerOptions;
  /** Importer → source → its lease. */
  readonly #leases = new WeakMap<Member, Map<string, RenewedLease>>();
  /** Importer → its renewals in progress. */
  readonly #running = new Map<string, Promise<void>>();

  constructor(options: RenewerOptions) {
    this.#options = options;
  }

  /** Renews until the signal fires. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, renewMs, members } = this.#options;
    while (!signal.aborted) {
      const sources = members().filter(({ probe }) => probe.state === 'alive');
      const exported = new Map(sources.map((source) => [source, source.exportedNamespaces]));
      for (const importer of members()) {
        // A slow importer does not delay the leases of others.
        if (this.#running.has(importer.id)) continue;
        const used = sources.map((source): LeaseSource => ({
          id: source.id,
          uid: source.probe.uid,
          confirmedAt: source.probe.confirmedAt,
          usage: usageOf(exported.get(source), source, importer),
        }));
        this.#start(importer, used, signal);
      }
      const isStarting = members().some(({ probe }) => probe.state === 'unknown');
      const checkMs = renewMs / checksPerRenewal;
      await sleep(clock, isStarting ? Math.min(checkMs, startupCheckMs) : checkMs, signal);
    }
    await Promise.all(this.#running.values());
  }

  #start(importer: Member, sources: readonly LeaseSource[], signal: AbortSignal): void {
    const work = this.#renewIn(importer, sources, signal)
      .catch((error: unknown) => {
        if (!signal.aborted) this.#options.onError(error, importer);
      })
      .finally(() => void this.#running.delete(importer.id));
    this.#running.set(importer.id, work);
  }

  async #renewIn(importer: Member, sources: readonly LeaseSource[], signal: AbortSignal): Promise<void> {
    const { clock, durationMs } = this.#options;
    const { isLeaving = false, isReadOnly = false } = importer.options;
    if (importer.probe.state !== 'alive' || isLeaving || isReadOnly) return;
    const inTime = <T>(work: (deadline: AbortSignal) => Promise<T>): Promise<T> =>
      withDeadline({ signal, ms: durationMs, clock }, work);
    const leases = this.#leases.get(importer) ?? (await inTime((deadline) => existingLeases(importer, deadline)));
    this.#leases.set(importer, leases);
    const { renew, remove } = planLeases(sources, leases);
    for (const source of sources.filter(({ id }) => renew.includes(id))) {
      const { id, confirmedAt = 0 } = source;
      const last = leases.get(id)?.lease;
      const lease = await inTime((deadline) => this.#write(importer, source, { last, signal: deadline }));
      leases.set(id, { lease, confirmedAt });
    }
    for (const id of remove) {
      const last = leases.get(id);
      if (last !== undefined) await inTime((deadline) => deleteLease(importer, last.lease, deadline));
      leases.delete(id);
    }
  }

  async #write(
    { client }: Member,
    { id: source, uid }: LeaseSource,
    { last, signal }: { readonly last: Lease | undefined; readonly signal: AbortSignal },
  ): Promise<Lease> {
    const { holder, durationMs, clock } = this.#options;
    const renewal = { source, uid, holder, durationMs, nowMs: clock.now() };
    const options = { signal };
    if (last !== undefined) {
      try {
        return await client.update(leaseKind, renewed(last, renewal), options);
      } catch (error) {
        // Deleted, or renewed by another controller: read it again.
        if (!hasStatusCode(error, 404) && !hasStatusCode(error, 409)) throw error;
      }
    }
    const name = { namespace: leaseNamespace, name: leaseName(source) };
    const found = await client.find(leaseKind, name, options);
    if (last !== undefined && found !== undefined && found.spec.holderIdentity !== holder)
      this.#options.onOtherHolder();
    return found === undefined
      ? client.create(leaseKind, renewed(undefined, renewal), options)
      : client.update(leaseKind, renewed(found, renewal), options);
  }
}

/** Whether a cluster imports from a source, or will: the source exports from a namespace that the cluster has. */
function usageOf(namespaces: ReadonlySet<string> = new Set(), source: Member, importer: Member): LeaseSource['usage'] {
  const { id, options, caches } = source;
  const isImported =
    source === importer ||
    (options.isLeaving !== true && [...namespaces].some((name) => importer.hasNamespace(name))) ||
    importer.caches.slices.by('source', id).length > 0;
  if (isImported) return 'imported';
  return caches.isSynced && importer.caches.isSynced ? 'unused' : 'unknown';
}

/** The leases of sources in a cluster. */
export async function leasesIn(member: Member, signal: AbortSignal): Promise<readonly Lease[]> {
  const selected = { namespace: leaseNamespace, labelSelector: leaseSelector };
  const { items } = await member.withTimeout(signal, (deadline) =>
    member.client.list(leaseKind, { ...selected, signal: deadline }),
  );
  return items;
}

/** The leases at the start of this controller, each due for a renewal. */
async function existingLeases(importer: Member, signal: AbortSignal): Promise<Map<string, RenewedLease>> {
  const leases = await leasesIn(importer, signal);
  return new Map(leases.map((lease) => [sourceOfLease(lease) ?? '', { lease, confirmedAt: -Infinity }]));
}

/** Deletes the leases of all other sources in a cluster. */
export async function deleteLeases(importer: Member, sources: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
  for (const lease of await leasesIn(importer, signal)) {
    const source = sourceOfLease(lease);
    if (source !== undefined && !sources.has(source)) await deleteLease(importer, lease, signal);
  }
}

/** Deletes a lease unless it was re-created. */
async function deleteLease(member: Member, lease: Lease, signal: AbortSignal): Promise<void> {
  const { name = '', uid = '' } = lease.metadata;
  try {
    await member.withTimeout(signal, (deadline) =>
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
