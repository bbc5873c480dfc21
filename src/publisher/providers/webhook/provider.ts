// Writes by ExternalDNS' webhook protocol, so that its out-of-tree providers can be used.
import { messageOf } from '../../../api/error-message.ts';
import { overHttps } from '../../../client/https.ts';
import { parseJson } from '../../../client/json.ts';
import type { ApiRequest, ApiResponse, Transport } from '../../../client/transport.ts';
import type { Name } from '../../../dnswire/data.ts';
import type { NameChange } from '../../plan/changes.ts';
import type { DesiredSets } from '../../plan/desired.ts';
import type { DomainFilter } from '../../plan/zones.ts';
import { passes, zoneOf } from '../../plan/zones.ts';
import type { Problem } from '../batches.ts';
import { sendBatches } from '../batches.ts';
import type { Failure, Provider, ZoneReading } from '../provider.ts';
import { ProviderError } from '../provider.ts';
import type { Endpoint, EndpointChanges } from './endpoint.ts';
import { endpointOf, readDomainFilter, readEndpoints, setOf, zonesIn } from './endpoint.ts';

/** The calls of the protocol, as metrics name them. */
export type WebhookCall = 'records' | 'applychanges' | 'adjustendpoints';

export interface WebhookOptions {
  /** Such as `http://localhost:8888`. */
  readonly url: string;
  /** Empty: the domains that the provider manages. */
  readonly zones: readonly Name[];
  /** How long a call may take; default as ExternalDNS: 5 s to read and 10 s to write. */
  readonly timeoutMs?: number;
  /** Called after every call. */
  readonly onCall?: (call: WebhookCall, isError: boolean) => void;
}

const mediaType = 'application/external.dns.webhook+json;version=1';
/** So that a call ends in time; the protocol has no limit. */
const namesPerCall = 500;

/** Writes to a webhook provider. */
export class WebhookProvider implements Provider {
  readonly #options: WebhookOptions;
  readonly #transport: Transport;
  #filter: DomainFilter | undefined;
  /** Zone → name and type → the endpoint that was read last. */
  readonly #endpoints = new Map<Name, ReadonlyMap<string, Endpoint>>();

  constructor(options: WebhookOptions) {
    this.#options = options;
    const { url, timeoutMs = 15_000 } = options;
    this.#transport = overHttps({ server: url, credentials: async () => ({}) }, { timeoutMs, connections: 2 });
  }

  async zones(signal: AbortSignal): Promise<readonly Name[]> {
    const filter = await this.#negotiate(signal);
    const zones = this.#options.zones.length > 0 ? this.#options.zones : zonesIn(filter);
    if (zones.length === 0) throw this.#error('it names no domains that it manages: pass --zone NAME');
    return zones;
  }

  async read(zone: Name, signal: AbortSignal): Promise<ZoneReading> {
    const zones = await this.zones(signal);
    const call = { method: 'GET', path: '/records' } as const;
    const endpoints = await this.#counted('records', async () => this.#endpointsOf(await this.#request(call, signal)));
    const known = new Map<string, Endpoint>();
    const identified = new Set<string>();
    for (const endpoint of endpoints) {
      const set = setOf(endpoint);
      if (set === undefined || zoneOf(set.name, zones) !== zone) continue;
      const key = keyOf(set);
      // A set that shares its name and type with others is not ours. Without its registry record it has no owner.
      if (endpoint.setIdentifier !== undefined) identified.add(key);
      const last = known.get(key);
      known.set(key, last === undefined ? endpoint : { ...last, targets: [...last.targets, ...endpoint.targets] });
    }
    for (const key of identified) if (key.startsWith('TXT ')) known.delete(key);
    this.#endpoints.set(zone, known);
    const sets = [...known.values()].flatMap((endpoint) => setOf(endpoint) ?? []);
    return { content: Map.groupBy(sets, ({ name }) => name), changed: undefined };
  }

  async adjust(desired: DesiredSets, signal: AbortSignal): Promise<DesiredSets> {
    const sets = [...desired.values()].flat();
    if (sets.length === 0) return desired;
    const body = JSON.stringify(sets.map(({ set, properties }) => endpointOf(set, properties)));
    const call = { method: 'POST', path: '/adjustendpoints', body } as const;
    const adjusted = await this.#counted('adjustendpoints', async () =>
      this.#endpointsOf(await this.#request(call, signal)),
    );
    const byKey = new Map(adjusted.flatMap((endpoint) => setOf(endpoint) ?? []).map((set) => [keyOf(set), set]));
    return new Map(
      [...desired].map(([name, all]) => [
        name,
        all.flatMap((each) => {
          const { properties = {}, ...set } = byKey.get(keyOf(each.set)) ?? {};
          // The provider does not publish a set that it leaves out.
          return 'name' in set ? [{ ...each, set, properties }] : [];
        }),
      ]),
    );
  }

  async apply(zone: Name, changes: readonly NameChange[], signal: AbortSignal): Promise<readonly Failure[]> {
    const filter = await this.#negotiate(signal);
    const [managed, others] = [true, false].map((isManaged) =>
      changes.filter(({ name }) => passes(name, filter) === isManaged),
    );
    const all = (managed ?? []).map((change) => ({ change }));
    const batches = Array.from({ length: Math.ceil(all.length / namesPerCall) }, (_, index) =>
      all.slice(index * namesPerCall, (index + 1) * namesPerCall),
    );
    const failures = await sendBatches(batches, (batch) => {
      const body = JSON.stringify(changesOf(batch, this.#endpoints.get(zone) ?? new Map()));
      return this.#counted('applychanges', () => this.#send(body, signal));
    });
    const message = `webhook provider ${this.#options.url} does not manage this domain`;
    return [...failures, ...(others ?? []).map((change) => ({ change, state: 'rejected', message }) as const)];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#transport[Symbol.dispose]();
  }

  async #send(body: string, signal: AbortSignal): Promise<Problem | undefined> {
    const { status, body: text } = await this.#exchange({ method: 'POST', path: '/records', body }, signal);
    if (status === 204) return undefined;
    return { state: 'rejected', message: `webhook provider ${this.#options.url} ${answered(status, text)}` };
  }

  /** Requests the domains once: the answer also proves that the provider has this version of the protocol. */
  async #negotiate(signal: AbortSignal): Promise<DomainFilter> {
    if (this.#filter !== undefined) return this.#filter;
    const response = await this.#request({ method: 'GET', path: '/' }, signal);
    const type = String(response.headers['content-type'] ?? '');
    if (type !== mediaType) throw this.#error(`its content type is "${type.slice(0, 100)}": expected "${mediaType}"`);
    this.#filter = this.#parsed(response, readDomainFilter);
    return this.#filter;
  }

  #endpointsOf(response: ApiResponse): readonly Endpoint[] {
    return this.#parsed(response, readEndpoints);
  }

  #parsed<T>({ body }: ApiResponse, read: (value: unknown) => T): T {
    try {
      return read(parseJson(body));
    } catch (error) {
      throw this.#error(`malformed answer: ${messageOf(error)}`, error);
    }
  }

  async #request(call: ApiRequest, signal: AbortSignal): Promise<ApiResponse> {
    const response = await this.#exchange(call, signal);
    if (response.status === 200) return response;
    throw this.#error(`${call.path} ${answered(response.status, response.body)}`);
  }

  async #exchange(call: ApiRequest, signal: AbortSignal): Promise<ApiResponse> {
    try {
      return await this.#transport.request({ ...call, accept: mediaType, type: mediaType, signal });
    } catch (error) {
      if (signal.aborted) throw error;
      throw this.#error(messageOf(error), error);
    }
  }

  async #counted<T>(call: WebhookCall, run: () => Promise<T>): Promise<T> {
    let isError = true;
    try {
      const result = await run();
      isError = call === 'applychanges' && result !== undefined;
      return result;
    } finally {
      this.#options.onCall?.(call, isError);
    }
  }

  #error(message: string, cause?: unknown): ProviderError {
    return new ProviderError(`webhook provider ${this.#options.url}: ${message}`, { cause });
  }
}

const keyOf = ({ name, type }: { readonly name: Name; readonly type: string }): string => `${type} ${name}`;

const answered = (status: number, body: string): string =>
  `answered ${status}${body.trim() === '' ? ', see its log' : `: ${body.trim().slice(0, 300)}`}`;

/** The endpoints to create, update and delete. */
function changesOf(
  batch: readonly { readonly change: NameChange }[],
  known: ReadonlyMap<string, Endpoint>,
): EndpointChanges {
  const result = {
    create: [] as Endpoint[],
    updateOld: [] as Endpoint[],
    updateNew: [] as Endpoint[],
    delete: [] as Endpoint[],
  };
  for (const { before, after, properties } of batch.flatMap(({ change }) => change.changes)) {
    if (before === after) continue;
    const last = before === undefined ? undefined : (known.get(keyOf(before)) ?? endpointOf(before));
    const next = after === undefined ? undefined : endpointOf(after, properties);
    if (last !== undefined && next !== undefined) {
      result.updateOld.push(last);
      result.updateNew.push({ ...next, ...(last.labels && { labels: last.labels }) });
    } else if (last !== undefined) result.delete.push(last);
    else if (next !== undefined) result.create.push(next);
  }
  return result;
}
