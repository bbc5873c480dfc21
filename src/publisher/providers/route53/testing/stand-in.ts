// A stand-in for Route 53 with its protocol, so that the real SDK is used, and the rules that moto does not have.
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as bodyOf } from 'node:stream/consumers';

/** A set as it is stored: its name as it is printed, with a final dot. */
export interface StoredSet {
  readonly name: string;
  readonly type: string;
  readonly identifier?: string;
  readonly ttl?: string;
  readonly values: readonly string[];
  /** The name of an alias target. */
  readonly alias?: string;
}

/** A hosted zone. */
export interface StoredZone {
  readonly id: string;
  readonly name: string;
  readonly isPrivate?: boolean;
}

interface Answer {
  readonly status?: number;
  readonly body: string;
}

const keyOf = ({ name, type, identifier = '' }: Pick<StoredSet, 'name' | 'type' | 'identifier'>): string =>
  `${name.toLowerCase()} ${type} ${identifier}`;

/** Sets are listed by their labels from the right. */
const orderOf = ({ name, type, identifier = '' }: StoredSet): string =>
  [...name.split('.').toReversed(), type, identifier].join('\u0000');

export class StandIn implements AsyncDisposable {
  zones: readonly StoredZone[] = [{ id: 'Z1', name: 'example.org.' }];
  /** Name, type and identifier → set. All are in zone Z1. */
  readonly sets = new Map<string, StoredSet>();
  /** Requests, each as its method and path. */
  readonly requests: string[] = [];
  /** Sets of one page. */
  pageSize = 300;
  /** Rejected batches have a list of messages, which is the older of two forms. */
  isErrorList = false;
  /** Answers a request instead of the stand-in. */
  answer: (request: IncomingMessage) => Answer | undefined = () => undefined;
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  static async start(): Promise<StandIn> {
    const standIn = new StandIn();
    standIn.#server.listen(0, '127.0.0.1');
    await once(standIn.#server, 'listening');
    return standIn;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`; // A cast: it listens on a port.
  }

  put(...sets: readonly StoredSet[]): void {
    for (const set of sets) this.sets.set(keyOf(set), set);
  }

  get(name: string, type: string): StoredSet | undefined {
    return this.sets.get(keyOf({ name, type }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://localhost');
    this.requests.push(`${request.method} ${url.pathname.replace('/2013-04-01/', '')}`);
    const body = await bodyOf(request);
    const { status = 200, body: xml } = this.answer(request) ?? this.#respond(url, body);
    response.writeHead(status, { 'content-type': 'text/xml' }).end(`<?xml version="1.0"?>\n${xml}`);
  }

  #respond({ pathname, searchParams }: URL, body: string): Answer {
    const [, , resource, id = '', rrset] = pathname.split('/');
    if (resource === 'hostedzonesbyname') {
      const from = searchParams.get('dnsname') ?? '';
      const zones = this.zones.filter(({ name }) => name >= from).map(zoneXml);
      return {
        body: `<ListHostedZonesByNameResponse><HostedZones>${zones.join('')}</HostedZones></ListHostedZonesByNameResponse>`,
      };
    }
    const zone = this.zones.find((each) => each.id === id);
    if (zone === undefined) return errorAnswer('NoSuchHostedZone', `No hosted zone found with ID: ${id}`, 404);
    if (rrset === undefined) return { body: `<GetHostedZoneResponse>${zoneXml(zone)}</GetHostedZoneResponse>` };
    return body === '' ? this.#list(searchParams) : this.#change(zone, body);
  }

  #list(query: URLSearchParams): Answer {
    const sorted = [...this.sets.values()].toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
    const [name, type] = [query.get('name'), query.get('type') ?? ''];
    const identifier = query.get('identifier') ?? '';
    const from =
      name === null ? 0 : sorted.findIndex((each) => orderOf(each) >= orderOf({ name, type, identifier, values: [] }));
    const page = from < 0 ? [] : sorted.slice(from, from + this.pageSize);
    const next = from < 0 ? undefined : sorted[from + this.pageSize];
    const more =
      next === undefined
        ? '<IsTruncated>false</IsTruncated>'
        : `<IsTruncated>true</IsTruncated><NextRecordName>${next.name}</NextRecordName><NextRecordType>${next.type}</NextRecordType>` +
          (next.identifier === undefined ? '' : `<NextRecordIdentifier>${next.identifier}</NextRecordIdentifier>`);
    const sets = page.map(setXml).join('');
    return {
      body: `<ListResourceRecordSetsResponse><ResourceRecordSets>${sets}</ResourceRecordSets>${more}<MaxItems>300</MaxItems></ListResourceRecordSetsResponse>`,
    };
  }

  /** Applies a batch, or nothing of it. */
  #change(zone: StoredZone, body: string): Answer {
    const before = new Map(this.sets);
    const problems: string[] = [];
    const changes = elements(body, 'Change').map((xml) => ({
      action: element(xml, 'Action') ?? '',
      set: readSet(xml),
    }));
    for (const { action, set } of changes) {
      const problem = action === 'DELETE' ? this.#remove(set) : this.#create(zone, set);
      if (problem !== undefined) problems.push(problem);
    }
    const elementCount = elements(body, 'ResourceRecord').length;
    const characters = elements(body, 'Value').reduce((sum, value) => sum + value.length, 0);
    if (elementCount > 1000) problems.push(`Number of records limit of 1000 exceeded.`);
    if (characters > 32_000) problems.push('Number of characters limit of 32000 exceeded.');
    for (const { name, type } of this.sets.values()) {
      const isBeside = type !== 'CNAME' && this.get(name, 'CNAME') !== undefined;
      if (isBeside)
        problems.push(
          `RRSet of type ${type} with DNS name ${name} is not permitted because a conflicting RRSet of type CNAME with the same DNS name already exists in zone ${zone.name}`,
        );
    }
    if (problems.length === 0)
      return {
        body: '<ChangeResourceRecordSetsResponse><ChangeInfo><Id>/change/C1</Id><Status>PENDING</Status><SubmittedAt>2026-01-01T00:00:00Z</SubmittedAt></ChangeInfo></ChangeResourceRecordSetsResponse>',
      };
    this.sets.clear();
    for (const [key, set] of before) this.sets.set(key, set);
    if (!this.isErrorList) return errorAnswer('InvalidChangeBatch', `[${problems.join(', ')}]`, 400);
    const messages = problems.map((each) => `<Message>${escaped(each)}</Message>`).join('');
    return { status: 400, body: `<InvalidChangeBatch><Messages>${messages}</Messages></InvalidChangeBatch>` };
  }

  #remove(set: StoredSet): string | undefined {
    const known = this.sets.get(keyOf(set));
    const what = `[name='${set.name}', type='${set.type}']`;
    if (known === undefined) return `Tried to delete resource record set ${what} but it was not found`;
    if (JSON.stringify(known) !== JSON.stringify(set))
      return `Tried to delete resource record set ${what} but the values provided do not match the current values`;
    this.sets.delete(keyOf(set));
    return undefined;
  }

  #create(zone: StoredZone, set: StoredSet): string | undefined {
    const what = `[name='${set.name}', type='${set.type}']`;
    if (this.sets.has(keyOf(set))) return `Tried to create resource record set ${what} but it already exists`;
    if (set.name !== zone.name && !set.name.endsWith(`.${zone.name}`))
      return `RRSet with DNS name ${set.name} is not permitted in zone ${zone.name}`;
    const bad = set.values.find((value) => !(formats[set.type] ?? /./).test(value));
    if (bad !== undefined)
      return `Invalid Resource Record: FATAL problem: (Value '${bad}' is not valid) encountered with '${bad}'`;
    this.put(set);
    return undefined;
  }
}

const formats: Readonly<Record<string, RegExp>> = {
  A: /^[\d.]+$/,
  AAAA: /^[\da-f:]+$/,
  SRV: /^\d+ \d+ \d+ \S+$/,
  TXT: /^"[^"]{0,255}"$/,
};

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
const plain = (xml: string): string => xml.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&amp;', '&');

const elements = (xml: string, name: string): readonly string[] =>
  Array.from(xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, 'gs')), ([, content = '']) => content);
const element = (xml: string, name: string): string | undefined => {
  const [content] = elements(xml, name);
  return content === undefined ? undefined : plain(content);
};

/** Reads a set of a request; names are stored with `*` in octal, as AWS prints them. */
function readSet(xml: string): StoredSet {
  const alias = element(xml, 'DNSName');
  const identifier = element(xml, 'SetIdentifier');
  const ttl = element(xml, 'TTL');
  return {
    name: (element(xml, 'Name') ?? '').replace('*', '\\052'),
    type: element(xml, 'Type') ?? '',
    ...(identifier === undefined ? {} : { identifier }),
    ...(ttl === undefined ? {} : { ttl }),
    values: elements(xml, 'Value').map(plain),
    ...(alias === undefined ? {} : { alias }),
  };
}

const setXml = ({ name, type, identifier, ttl, values, alias }: StoredSet): string =>
  [
    `<ResourceRecordSet><Name>${name}</Name><Type>${type}</Type>`,
    identifier === undefined ? '' : `<SetIdentifier>${identifier}</SetIdentifier><Weight>1</Weight>`,
    ttl === undefined ? '' : `<TTL>${ttl}</TTL>`,
    values.length === 0
      ? ''
      : `<ResourceRecords>${values.map((value) => `<ResourceRecord><Value>${escaped(value)}</Value></ResourceRecord>`).join('')}</ResourceRecords>`,
    alias === undefined
      ? ''
      : `<AliasTarget><HostedZoneId>Z2</HostedZoneId><DNSName>${alias}</DNSName><EvaluateTargetHealth>true</EvaluateTargetHealth></AliasTarget>`,
    '</ResourceRecordSet>',
  ].join('');

const zoneXml = ({ id, name, isPrivate = false }: StoredZone): string =>
  `<HostedZone><Id>/hostedzone/${id}</Id><Name>${name}</Name><CallerReference>r</CallerReference>` +
  `<Config><PrivateZone>${isPrivate}</PrivateZone></Config></HostedZone>`;

export const errorAnswer = (code: string, message: string, status: number): Answer => ({
  status,
  body: `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>${escaped(message)}</Message></Error><RequestId>r</RequestId></ErrorResponse>`,
});
