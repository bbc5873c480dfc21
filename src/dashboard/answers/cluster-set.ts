// What cached rows do not contain, read from clusters on request: DNS answers and the state of the cluster set.
import { sleep, systemClock } from '../../client/clock.ts';
import type { DnsInspection, ExplainedAnswer, Question } from '../../dns/inspect.ts';
import { inspectDns } from '../../dns/inspect.ts';
import type { Snapshot } from '../../multicluster/inspect.ts';
import { takeSnapshot } from '../../multicluster/inspect.ts';
import type { ClusterSetOptions, ClusterSource } from '../options.ts';
import { AnswerError } from './errors.ts';
import { KeptOpen } from './kept-open.ts';

/** How long a cluster may take to be read. */
const readMs = 15_000;
/** A snapshot of the set is taken again after this time. */
const freshMs = 500;

/** Reads clusters while requests need them. */
export class ClusterSet implements AsyncDisposable {
  readonly sources: ReadonlyMap<string, ClusterSource>;
  /** Cluster → its zones. */
  readonly #zones: ReadonlyMap<string, KeptOpen<DnsInspection>>;
  readonly #set: KeptOpen<FreshSnapshot>;

  constructor(sources: readonly ClusterSource[], set: ClusterSetOptions) {
    this.sources = new Map(sources.map((source) => [source.name, source]));
    this.#zones = new Map(sources.map((source) => [source.name, new KeptOpen(() => openZones(source))]));
    this.#set = new KeptOpen(async () => new FreshSnapshot(await takeSnapshot(set.members, set)));
  }

  /**
   * Answers questions as the DNS server of a cluster would. Rejects with an AnswerError if the cluster cannot be read: at once
   * if `lost` has the reason why its requests fail, unless it was read before.
   */
  async query(
    cluster: string,
    questions: readonly Question[],
    lost: string | undefined,
  ): Promise<readonly ExplainedAnswer[]> {
    const zones = this.#zones.get(cluster);
    if (zones === undefined) throw new AnswerError(404, `there is no cluster "${cluster}"`);
    if (lost !== undefined && !zones.isOpen) throw new AnswerError(503, `requests to cluster ${cluster} fail: ${lost}`);
    return zones.use((inspection) => questions.map((question) => inspection.query(question)));
  }

  /** Runs `work` with the current state of the set. */
  snapshot<R>(work: (snapshot: Snapshot) => R): Promise<R> {
    return this.#set.use(async (fresh) => work(await fresh.current()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#zones.values(), this.#set].map((each) => each[Symbol.asyncDispose]()));
  }
}

async function openZones({ name, connect, dns }: ClusterSource): Promise<DnsInspection> {
  const client = connect();
  const inspection = inspectDns(client, dns);
  const close = async (): Promise<void> => {
    await inspection[Symbol.asyncDispose]();
    client[Symbol.dispose]();
  };
  const stop = new AbortController();
  const isRead = await Promise.race([
    inspection.synced.then(() => true),
    sleep(systemClock, readMs, stop.signal).then(() => false),
  ]).finally(() => stop.abort());
  if (!isRead) {
    const reasons = inspection.unsynced().join('; ');
    await close();
    throw new AnswerError(503, `cluster ${name} cannot be read: ${reasons}`);
  }
  return { ...inspection, [Symbol.asyncDispose]: close };
}

/** A snapshot that is taken again when it is old. */
class FreshSnapshot implements AsyncDisposable {
  readonly #snapshot: Snapshot;
  #takenMs = systemClock.elapsed();
  #renewing: Promise<void> | undefined;

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot;
  }

  async current(): Promise<Snapshot> {
    if (systemClock.elapsed() - this.#takenMs > freshMs) {
      this.#renewing ??= this.#snapshot.renew().finally(() => {
        this.#takenMs = systemClock.elapsed();
        this.#renewing = undefined;
      });
    }
    await this.#renewing;
    return this.#snapshot;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#snapshot[Symbol.asyncDispose]();
  }
}
