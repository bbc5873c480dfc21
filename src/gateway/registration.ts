// Registers replicas of a gateway in EndpointSlices of their cluster, and keeps the condition of each current.
import { isDeepStrictEqual } from 'node:util';
import { connect } from 'node:net';
import type { Logger } from 'pino';

import { familyOf } from '../api/addresses.ts';
import { messageOf } from '../api/error-message.ts';
import { isReady } from '../api/kinds/discovery/endpointslice/facts.ts';
import { endpointSliceKind } from '../api/kinds/discovery/endpointslice/kind.ts';
import { managedByLabel, serviceNameLabel } from '../api/kinds/discovery/endpointslice/labels.ts';
import type { EndpointSlice } from '../api/kinds/discovery/endpointslice/schema.ts';
import type { Place } from '../api/kinds/multicluster/gateway.ts';
import {
  gatewayManagedBy,
  gatewayProblemsAnnotation,
  gatewayReplicas,
  gatewayService,
  peerPort,
} from '../api/kinds/multicluster/gateway.ts';
import type { Client } from '../client/client.ts';
import type { Clock } from '../client/clock.ts';
import { sleep } from '../client/clock.ts';
import { hasStatusCode } from '../client/transport.ts';

export interface Registration {
  /** The address of this replica in its cluster, and the port for other gateways. */
  readonly place: Place;
  readonly isReady: boolean;
  /** Cluster → why this replica cannot use it. */
  readonly problems: ReadonlyMap<string, string>;
}

/** The name of the slice of a replica, which is the same after a restart. */
const registrationName = ({ host }: Pick<Place, 'host'>): string =>
  `${gatewayService.name}-${host.replaceAll(/[^0-9a-f]/g, '-')}`;

/** The slice in which a replica registers. */
export function registrationOf({ place, isReady: ready, problems }: Registration): EndpointSlice {
  const reasons = Object.fromEntries([...problems].toSorted(([left], [right]) => (left < right ? -1 : 1)));
  return {
    metadata: {
      namespace: gatewayService.namespace,
      name: registrationName(place),
      labels: { [serviceNameLabel]: gatewayService.name, [managedByLabel]: gatewayManagedBy },
      annotations: problems.size === 0 ? {} : { [gatewayProblemsAnnotation]: JSON.stringify(reasons) },
    },
    addressType: familyOf(place.host) ?? 'IPv4',
    endpoints: [{ addresses: [place.host], conditions: { ready, serving: ready, terminating: !ready } }],
    ports: [{ name: peerPort.name, protocol: 'TCP', port: place.port }],
  };
}

/** What has to change in the registered slice; undefined: nothing. */
function registrationChange(wanted: EndpointSlice, actual: EndpointSlice | undefined): EndpointSlice | undefined {
  if (actual === undefined) return wanted;
  const of = ({ metadata: { labels, annotations = {} }, endpoints, ports }: EndpointSlice): unknown => ({
    labels,
    problems: annotations[gatewayProblemsAnnotation],
    endpoints,
    ports: ports?.map(({ name, port }) => ({ name, port })),
  });
  if (isDeepStrictEqual(of(wanted), of(actual))) return undefined;
  const { resourceVersion, uid } = actual.metadata;
  return {
    ...wanted,
    metadata: {
      ...wanted.metadata,
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(uid === undefined ? {} : { uid }),
    },
  };
}

export interface RegistrarOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  /** What this replica registers. */
  readonly own: () => Registration;
  /** The slices of all replicas in the cluster. */
  readonly registered: () => readonly EndpointSlice[];
  readonly times?: RegistrarTimes | undefined;
}

export interface RegistrarTimes {
  readonly probeMs: number;
  /** A replica that does not answer for this long is not ready any more. */
  readonly deadMs: number;
  /** And its slice is deleted after this. */
  readonly deleteMs: number;
}

const defaultRegistrarTimes: RegistrarTimes = { probeMs: 1000, deadMs: 3000, deleteMs: 300_000 };

/**
 * Registers this replica, and probes the others: a replica that was killed cannot change its own condition. A replica that others
 * wrongly found dead corrects that with its next probe.
 */
export class Registrar {
  readonly #options: RegistrarOptions;
  /** Slice → when its replica answered last. */
  readonly #answeredAt = new Map<string, number>();
  /** Why this replica is not registered; undefined: it is. */
  problem: string | undefined = 'not registered yet';

  constructor(options: RegistrarOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, times = defaultRegistrarTimes } = this.#options;
    while (!signal.aborted) {
      await this.register(signal);
      await this.#probeOthers(signal);
      await sleep(clock, times.probeMs, signal).catch(() => undefined);
    }
  }

  /** Writes the slice of this replica if it has changed. */
  async register(signal?: AbortSignal): Promise<void> {
    const { client, own, registered, log } = this.#options;
    const wanted = registrationOf(own());
    const actual = registered().find(({ metadata }) => metadata.name === wanted.metadata.name);
    const change = registrationChange(wanted, actual);
    try {
      if (change !== undefined)
        await client[actual === undefined ? 'create' : 'update'](endpointSliceKind, change, { signal });
      this.problem = undefined;
    } catch (error) {
      // 409: the cache is behind, or another replica wrote; the next round compares again.
      if (signal?.aborted === true || hasStatusCode(error, 409)) return;
      const text = hasStatusCode(error, 404)
        ? `namespace ${gatewayService.namespace} does not exist: create it`
        : messageOf(error);
      if (this.problem !== text) log.warn({ reason: text }, 'gateway could not be registered, retrying');
      this.problem = text;
    }
  }

  async #probeOthers(signal: AbortSignal): Promise<void> {
    const { registered, own, clock } = this.#options;
    const ownName = registrationName(own().place);
    const others = registered().filter(({ metadata }) => metadata.name !== ownName);
    const names = new Set(others.map(({ metadata }) => metadata.name));
    for (const name of this.#answeredAt.keys()) if (!names.has(name)) this.#answeredAt.delete(name);
    await Promise.all(
      others.map(async (slice) => {
        const { name = '' } = slice.metadata;
        const [replica] = gatewayReplicas([slice]);
        const since = this.#answeredAt.get(name) ?? clock.elapsed();
        this.#answeredAt.set(name, since);
        if (replica !== undefined && (await answers(replica.place))) this.#answeredAt.set(name, clock.elapsed());
        else await this.#judge(slice, clock.elapsed() - since, signal);
      }),
    );
  }

  /** Writes the condition of a replica that does not answer. */
  async #judge(slice: EndpointSlice, silentMs: number, signal: AbortSignal): Promise<void> {
    const { client, log, times = defaultRegistrarTimes } = this.#options;
    const { namespace, name = '', uid, resourceVersion } = slice.metadata;
    const preconditions = {
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    };
    try {
      if (silentMs >= times.deleteMs) {
        await client.delete(endpointSliceKind, { namespace, name }, { preconditions, signal });
        log.info({ slice: name }, 'deleted the registration of a gateway replica that does not answer');
      } else if (silentMs >= times.deadMs && (slice.endpoints ?? []).some(isReady)) {
        const conditions = { ready: false, serving: false, terminating: false };
        const endpoints = (slice.endpoints ?? []).map((each) => ({ ...each, conditions }));
        await client.update(endpointSliceKind, { ...slice, endpoints }, { signal });
        log.warn({ slice: name }, 'gateway replica does not answer: it is not ready any more');
      }
    } catch (error) {
      // Another replica may have been faster; the next round compares again.
      log.debug({ slice: name, reason: messageOf(error) }, 'condition of a gateway replica not written');
    }
  }
}

const answerMs = 1000;

function answers(place: Place): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ ...place, timeout: answerMs });
  const finish = (isThere: boolean) => (): void => {
    resolve(isThere);
    socket.destroy();
  };
  socket.once('connect', finish(true));
  socket.once('timeout', finish(false));
  socket.on('error', finish(false));
  return promise;
}
