import { parseCidr } from '../api/addresses.ts';
import type { PartContext } from '../client/part.ts';
import type { Name } from '../dnswire/data.ts';
import { Journal } from './answer/journal.ts';
import { Notifier } from './answer/notify.ts';
import { Cookies } from './message/cookie.ts';
import { slowPath } from './answer/slow-path.ts';
import { Transfers } from './answer/transfer.ts';
import type { DnsOptions } from './options.ts';
import { ZoneController } from './controller/zone-controller.ts';
import { zoneMetrics, programmingDuration } from './controller/metrics.ts';
import { Forwarder } from './forward/forwarder.ts';
import { forwardMetrics } from './forward/metrics.ts';
import { RecursionPolicy } from './forward/policy.ts';
import { planForwarding } from './forward-plan.ts';
import { machineAddresses, serverAddresses } from './machine.ts';
import type { SlowPath } from './prepared.ts';
import { Publication } from './publication.ts';
import { openZones } from './records/open-zones.ts';
import type { Zones } from './records/zones.ts';
import { AnswerTable } from './transport/table.ts';

/** Facts about the cluster's network that are not options of the DNS server. */
export interface ClusterNetwork {
  /** CIDRs of Pods and Services, which may recurse; all private ranges if left out. */
  readonly clusterRanges?: readonly string[];
}

export interface ServingOptions extends ClusterNetwork {
  readonly context: PartContext;
  readonly options: DnsOptions;
  /** The text of /etc/resolv.conf. */
  readonly resolvConf: string;
  readonly cookieSecrets: readonly Uint8Array[];
  /** The `server` label of metrics. */
  readonly label: string;
  /** The instance that a reload replaces: serials, the cache and upstream statistics are taken over. */
  readonly previous?: Serving;
}

/** A watch that received nothing for this long, not even a bookmark, is reported as stuck. */
const longestSilenceMs = 5 * 60_000;

/** Everything that depends on the options; a reload creates another instance and switches to it. */
export class Serving {
  readonly table = new AnswerTable();
  readonly slowPath: SlowPath;
  readonly forwarder: Forwarder | undefined;
  /** Resolves when the first sync is complete and the prepared answers are in the table. */
  readonly ready: Promise<void>;
  readonly #stop = new AbortController();
  readonly #controller: ZoneController;
  readonly #zones: Zones;
  readonly #options: Omit<ServingOptions, 'previous'>;

  constructor({ previous, ...serving }: ServingOptions) {
    // Without `previous`, or every instance would keep all earlier ones in memory.
    this.#options = serving;
    const { context, options, cookieSecrets } = serving;
    const { client, log } = context;
    const onError = (error: unknown): void => log.warn({ err: error }, 'query failed');
    const { srvServiceNames, namespaces } = options;
    const records = { ...options.zones, srvServiceNames, namespaces };
    const inheritedZones = previous === undefined ? {} : { previous: previous.#zones };
    const zones = openZones(options.zones, { addresses: serverAddresses(options.listen), ...inheritedZones });
    this.#zones = zones;
    const completion = options.searchCompletion ? { completion: { zone: options.zones.clusterDomain } } : {};
    const publication = new Publication({ zones, sink: this.table, ...completion });
    const secondaries = serveSecondaries(zones, options.transfer, this.#stop.signal);
    const controller = new ZoneController({
      client,
      log,
      zones,
      records,
      changed(names) {
        publication.changed(names);
        secondaries.changed(names);
      },
      sliceServed: (slice, service) => this.#sliceServed?.(slice, service),
    });
    this.#controller = controller;
    const plan = this.#planForwarding();
    for (const warning of plan.warnings) log.warn(warning);
    const policy = new RecursionPolicy(plan.policy);
    const inherited = previous?.forwarder === undefined ? {} : { previous: previous.forwarder };
    const forwarder = plan.forwarder && new Forwarder({ ...plan.forwarder, policy, ...inherited });
    this.forwarder = forwarder;
    this.slowPath = slowPath({
      zones,
      ...(forwarder === undefined ? {} : { resolver: forwarder }),
      mayRecurse: (address) => policy.isAllowed(address),
      transfers: secondaries.transfers,
      cookies: new Cookies({ secrets: cookieSecrets }),
      isSynced: () => controller.hasSynced,
      ...completion,
      filterAaaa: options.filterAaaa,
      trustAd: options.forward.trustAd,
      onError,
    });
    this.ready = controller.start().then(() => {
      publication.open();
      secondaries.open();
    });
  }

  /** Reasons why answers are missing or may be stale. */
  problems(): readonly string[] {
    if (!this.#controller.hasSynced) return this.#controller.unsynced();
    return this.#controller
      .silence()
      .filter(({ silentMs }) => silentMs > longestSilenceMs)
      .map(({ plural }) => `the watch of ${plural} has been silent for over 5 minutes: answers may be stale`);
  }

  #sliceServed: ReturnType<typeof programmingDuration> | undefined;

  /** Registers the metrics of this instance; those of the previous one must be removed before. */
  measure(): void {
    const { context, label } = this.#options;
    const { metrics } = context;
    this.#sliceServed = programmingDuration(metrics);
    zoneMetrics(metrics, this.#controller, this.#zones);
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

  /** Stops watches, transfers and forwarding; resolves when queries in progress are done. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all([this.#controller.stop(), this.forwarder?.close()]);
  }

  #planForwarding(): ReturnType<typeof planForwarding> {
    const { options, resolvConf, clusterRanges = [] } = this.#options;
    const own = { listen: options.listen, machine: machineAddresses() };
    return planForwarding(options.forward, { resolvConf, own, clusterRanges });
  }
}

/** Zone transfers and notifications for secondary servers. */
interface Secondaries {
  readonly transfers: Pick<Transfers, 'respond'>;
  /** Records changes for IXFR and sends NOTIFY; does nothing before `open`. */
  changed(names: readonly Name[]): void;
  /** The zones are complete: starts the journal of changes. */
  open(): void;
}

/** Serves the secondaries that the options name, by default none. */
export function serveSecondaries(
  zones: Zones,
  { to, notify }: DnsOptions['transfer'],
  signal: AbortSignal,
): Secondaries {
  const notifier = new Notifier({ secondaries: notify, signal });
  const allow = to.flatMap((range) => parseCidr(range) ?? []);
  let journal: Journal | undefined;
  let transfers = new Transfers(zones, { allow });
  return {
    transfers: { respond: (query, client, reply) => transfers.respond(query, client, reply) },
    changed(names) {
      for (const zone of journal?.record(names) ?? []) notifier.notify(zone);
    },
    open() {
      if (allow.length === 0 && notify.length === 0) return;
      journal = new Journal(zones);
      transfers = new Transfers(zones, { allow, journal });
    },
  };
}
