import type { PartContext } from '../client/part.ts';
import { Cookies } from './message/cookie.ts';
import { slowPath } from './answer/slow-path.ts';
import type { DnsOptions } from './config.ts';
import { Follower } from './follow/follower.ts';
import { followMetrics, programmingDuration } from './follow/metrics.ts';
import { Forwarder } from './forward/forwarder.ts';
import { forwardMetrics } from './forward/metrics.ts';
import { RecursionPolicy } from './forward/policy.ts';
import { planForwarding } from './forward-plan.ts';
import { machineAddresses, reachedAt } from './machine.ts';
import type { SlowPath } from './prepared.ts';
import { Publication } from './publication.ts';
import { openZones } from './records/open-zones.ts';
import type { Zones } from './records/zones.ts';
import { serveSecondaries } from './secondaries.ts';
import { AnswerTable } from './transport/table.ts';

/** What a cluster adds to the options of its DNS server. */
export interface DnsSurroundings {
  /** CIDRs of Pods and Services, whose owners may ask for names that are not ours; all private ones if left out. */
  readonly clusterRanges?: readonly string[];
}

export interface ServingOptions extends DnsSurroundings {
  readonly context: PartContext;
  readonly options: DnsOptions;
  /** The text of /etc/resolv.conf. */
  readonly resolvConf: string;
  readonly cookieSecrets: readonly Uint8Array[];
  /** The `server` label of metrics. */
  readonly label: string;
  /** What this one takes over from, as after a reload: what was learnt from others stays. */
  readonly before?: Serving;
}

/** A watch from which nothing was heard for this long, not even a bookmark, is told to be stuck. */
const silentMs = 5 * 60_000;

/** Everything that answers by one set of options; a reload makes another. */
export class Serving {
  readonly table = new AnswerTable();
  readonly slowPath: SlowPath;
  readonly forwarder: Forwarder | undefined;
  /** Resolves when everything has been read, and the table says so. */
  readonly ready: Promise<void>;
  readonly #stop = new AbortController();
  readonly #follower: Follower;
  readonly #zones: Zones;
  readonly #following: Promise<void>;
  readonly #options: Omit<ServingOptions, 'before'>;

  constructor({ before, ...serving }: ServingOptions) {
    // Not what was before: each would hold on to all that were before it.
    this.#options = serving;
    const { context, options, cookieSecrets } = serving;
    const { client, log } = context;
    const onError = (error: unknown): void => log.warn({ err: error }, 'DNS goes on');
    const { srvServiceNames, namespaces } = options;
    const records = { ...options.zones, srvServiceNames, namespaces };
    const known = before === undefined ? {} : { before: before.#zones };
    const zones = openZones(options.zones, { addresses: reachedAt(options.listen), ...known });
    this.#zones = zones;
    const completing = options.searchCompletion ? { completion: { zone: options.zones.clusterDomain } } : {};
    const publication = new Publication({ zones, sink: this.table, ...completing });
    const secondaries = serveSecondaries(zones, options.transfer, this.#stop.signal);
    const follower = new Follower({
      client,
      zones,
      records,
      onError,
      changed(names) {
        publication.changed(names);
        secondaries.changed(names);
      },
      sliceServed: (slice, service) => this.#sliceServed?.(slice, service),
    });
    this.#follower = follower;
    const plan = this.#planForwarding();
    for (const warning of plan.warnings) log.warn(warning);
    const policy = new RecursionPolicy(plan.policy);
    const inherited = before?.forwarder === undefined ? {} : { before: before.forwarder };
    const forwarder = plan.forwarder && new Forwarder({ ...plan.forwarder, policy, ...inherited });
    this.forwarder = forwarder;
    this.slowPath = slowPath({
      zones,
      ...(forwarder === undefined ? {} : { resolver: forwarder }),
      mayRecurse: (address) => policy.isAllowed(address),
      transfers: secondaries.transfers,
      cookies: new Cookies({ secrets: cookieSecrets }),
      isSynced: () => follower.hasSynced,
      ...completing,
      filterAaaa: options.filterAaaa,
      trustAd: options.forward.trustAd,
      onError,
    });
    this.#following = follower.run(this.#stop.signal);
    this.ready = follower.synced.then(() => {
      publication.open();
      secondaries.open();
    });
  }

  /** What keeps it from answering well. */
  problems(): readonly string[] {
    if (!this.#follower.hasSynced) return ['the cluster has not been read completely yet'];
    return this.#follower
      .freshness()
      .filter((each) => (each.silentMs ?? 0) > silentMs)
      .map(({ resource }) => `nothing was heard of ${resource} for over 5 minutes: answers may be old`);
  }

  #sliceServed: ReturnType<typeof programmingDuration> | undefined;

  /** Tells what it does by metrics, whose names must be free. */
  measure(): void {
    const { context, label } = this.#options;
    const { metrics } = context;
    this.#sliceServed = programmingDuration(metrics);
    followMetrics(metrics, this.#follower, this.#zones);
    const { forwarder } = this;
    if (forwarder === undefined) return;
    forwardMetrics({
      registry: metrics,
      counters: forwarder.counters,
      server: label,
      cacheSize: () => forwarder.cacheSize,
      inFlight: () => forwarder.inFlight,
    });
  }

  /** Ends it, after what it is in the middle of. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all([this.#following, this.forwarder?.close()]);
  }

  #planForwarding(): ReturnType<typeof planForwarding> {
    const { options, resolvConf, clusterRanges = [] } = this.#options;
    const own = { listen: options.listen, machine: machineAddresses() };
    return planForwarding(options.forward, { resolvConf, own, clusterRanges });
  }
}
