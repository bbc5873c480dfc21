// Writes to hosted zones of Amazon Route 53.
import type { ResourceRecordSet } from '@aws-sdk/client-route-53';
import { messageOf } from '../../../api/error-message.ts';
import type { Clock } from '../../../client/clock.ts';
import type { Name } from '../../../dnswire/data.ts';
import { printName } from '../../../dnswire/name.ts';
import type { NameChange } from '../../plan/changes.ts';
import { contentAfter, touchedNames } from '../../plan/changes.ts';
import type { Problem } from '../batches.ts';
import { sendBatches } from '../batches.ts';
import type { Failure, Provider, ZoneReading } from '../provider.ts';
import { maxZoneRecords, ProviderError } from '../provider.ts';
import type { Route53 } from './connect.ts';
import type { HostedContent, PlannedChanges } from './record-sets.ts';
import { batchesOf, batchLimits, changesOf, fits, rawAfter, readHosted, readZoneName } from './record-sets.ts';

export interface Route53Options {
  readonly client: Route53;
  /** Names of public zones. */
  readonly zones: readonly Name[];
  /** IDs of further zones, such as private ones. */
  readonly zoneIds: readonly string[];
  readonly clock: Clock;
  /**
   * How long a zone is not read again, because there is no way to read only what has changed: 300 sets are a request, and an
   * account has five requests a second.
   */
  readonly rereadMs: number;
}

interface KnownZone extends HostedContent {
  readonly readAt: number;
  /** Names that were changed after it was read. */
  readonly changed: ReadonlySet<Name>;
}

/** Writes to hosted zones. */
export class Route53Provider implements Provider {
  readonly #options: Route53Options;
  /** Zone → its id. */
  #ids: ReadonlyMap<Name, string> = new Map();
  /** Zone → its content, as it was read and changed by this provider. */
  readonly #known = new Map<Name, KnownZone>();

  constructor(options: Route53Options) {
    this.#options = options;
  }

  async zones(signal: AbortSignal): Promise<readonly Name[]> {
    const { zones, zoneIds } = this.#options;
    const ids = new Map<Name, string>();
    for (const zone of zones) ids.set(zone, await this.#find(zone, signal));
    for (const id of zoneIds) ids.set(await this.#nameOf(id, signal), id);
    this.#ids = ids;
    return [...ids.keys()];
  }

  async read(zone: Name, signal: AbortSignal): Promise<ZoneReading> {
    const { clock, rereadMs } = this.#options;
    const last = this.#known.get(zone);
    if (last !== undefined && clock.elapsed() - last.readAt < rereadMs) {
      this.#known.set(zone, { ...last, changed: new Set() });
      return last;
    }
    const readAt = clock.elapsed();
    this.#known.delete(zone);
    const hosted = readHosted(await this.#sets(await this.#idOf(zone, signal), signal));
    this.#known.set(zone, { ...hosted, readAt, changed: new Set() });
    return { content: hosted.content, changed: undefined };
  }

  async apply(zone: Name, changes: readonly NameChange[], signal: AbortSignal): Promise<readonly Failure[]> {
    const known = this.#known.get(zone);
    if (known === undefined) throw new Error('bug: the zone was not read');
    // Until all is sent, what the zone holds is unknown.
    this.#known.delete(zone);
    const id = await this.#idOf(zone, signal);
    const planned = changes.map((change) => changesOf(change, known.raw));
    const failures = [
      ...planned.filter((each) => !fits(each)).map(({ change }) => ({ change, ...tooLarge })),
      ...(await sendBatches(batchesOf(planned.filter(fits)), (batch) => this.#send(id, batch, signal))),
    ];
    if (failures.some(({ state }) => state === 'stale')) return failures;
    const failed = new Set(failures.map(({ change }) => change));
    const applied = changes.filter((change) => !failed.has(change));
    this.#known.set(zone, {
      content: contentAfter(known.content, applied),
      raw: rawAfter(known.raw, applied),
      readAt: known.readAt,
      changed: known.changed.union(touchedNames(applied)),
    });
    return failures;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#known.clear();
  }

  async #send(id: string, batch: readonly PlannedChanges[], abortSignal: AbortSignal): Promise<Problem | undefined> {
    const ChangeBatch = { Changes: batch.flatMap(({ changes }) => changes) };
    try {
      await this.#options.client.changeResourceRecordSets({ HostedZoneId: id, ChangeBatch }, { abortSignal });
      return undefined;
    } catch (error) {
      const message = batchProblem(error);
      if (message === undefined) throw errorOf(error, abortSignal);
      return { state: isStale(message) ? 'stale' : 'rejected', message: `Route 53: ${message}` };
    }
  }

  async #sets(id: string, abortSignal: AbortSignal): Promise<readonly ResourceRecordSet[]> {
    const sets: ResourceRecordSet[] = [];
    let start = {};
    for (;;) {
      const page = await this.#call(
        (client) => client.listResourceRecordSets({ HostedZoneId: id, ...start }, { abortSignal }),
        abortSignal,
      );
      sets.push(...(page.ResourceRecordSets ?? []));
      if (page.IsTruncated !== true) return sets;
      if (sets.length > maxZoneRecords)
        throw new ProviderError(`Route 53: zone ${id} has more than ${maxZoneRecords} record sets`);
      start = {
        StartRecordName: page.NextRecordName,
        StartRecordType: page.NextRecordType,
        StartRecordIdentifier: page.NextRecordIdentifier,
      };
    }
  }

  async #idOf(zone: Name, signal: AbortSignal): Promise<string> {
    if (!this.#ids.has(zone)) await this.zones(signal);
    const id = this.#ids.get(zone);
    if (id === undefined) throw new ProviderError(`Route 53: zone ${zone} does not exist any more`);
    return id;
  }

  /** The id of the public zone with a name. */
  async #find(zone: Name, abortSignal: AbortSignal): Promise<string> {
    const { HostedZones = [] } = await this.#call(
      (client) => client.listHostedZonesByName({ DNSName: printName(zone) }, { abortSignal }),
      abortSignal,
    );
    const found = HostedZones.filter(
      ({ Name = '', Config }) => readZoneName(Name) === zone && Config?.PrivateZone !== true,
    );
    const [first, ...others] = found.map(({ Id = '' }) => Id.replace('/hostedzone/', ''));
    if (first === undefined)
      throw new ProviderError(
        `Route 53: the account has no public hosted zone ${zone}: create it, or pass --aws-zone-id of a private one`,
      );
    if (others.length > 0)
      throw new ProviderError(
        `Route 53: the account has several hosted zones ${zone}: pass one of --aws-zone-id ${[first, ...others].join(', ')}`,
      );
    return first;
  }

  async #nameOf(id: string, abortSignal: AbortSignal): Promise<Name> {
    const { HostedZone } = await this.#call((client) => client.getHostedZone({ Id: id }, { abortSignal }), abortSignal);
    const name = readZoneName(HostedZone?.Name ?? '');
    if (name === undefined) throw new ProviderError(`Route 53: the name of zone ${id} cannot be read`);
    return name;
  }

  async #call<T>(call: (client: Route53) => Promise<T>, signal: AbortSignal): Promise<T> {
    try {
      return await call(this.#options.client);
    } catch (error) {
      throw errorOf(error, signal);
    }
  }
}

const tooLarge = {
  state: 'rejected',
  message: `the records need more than ${batchLimits.records} elements or ${batchLimits.characters} characters, which Route 53 changes at once`,
} as const;

/**
 * Why a batch was rejected; undefined: it is another error. Route 53 sends the problems as a message, or as a list in a form that
 * the SDK does not define.
 */
function batchProblem(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if (['InvalidChangeBatch', 'InvalidInput'].includes(error.name)) return error.message;
  if (!('Messages' in error)) return undefined;
  const { Messages: list } = error;
  return typeof list === 'object' && list !== null && 'Message' in list ? [list.Message].flat().join('; ') : '';
}

/** Whether a batch was rejected because the zone has changed since it was read. */
const isStale = (message: string): boolean =>
  /was not found|already exists|do not match the current values/.test(message);

function errorOf(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return error;
  const message = messageOf(error);
  if (error instanceof Error && error.name === 'CredentialsProviderError')
    return new ProviderError(`no credentials for AWS: set AWS_PROFILE, or run with a role (${message})`, {
      cause: error,
    });
  return new ProviderError(`Route 53: ${message}`, { cause: error });
}
