// A naive model of answers, and the contents of a reply in its terms. Only lists: slow but obviously correct.
import assert from 'node:assert/strict';
import dnsPacket from 'dns-packet';

/** A record in the model: owner, type, and data as text. With type `''` the name only exists. */
export interface Plain {
  readonly owner: string;
  readonly type: string;
  readonly data: string;
}

/** The contents of a reply. */
export interface ReplyContent {
  readonly rcode: string;
  readonly answers: readonly string[];
  readonly additional: readonly string[];
  /** The zone whose SOA is in the authority section. */
  readonly denies: string | undefined;
}

const line = ({ owner, type, data }: Plain): string => `${owner} ${type} ${data}`;
const below = (name: string, apex: string): boolean => name === apex || name.endsWith(`.${apex}`);

/** The apexes of the zones, and all records. */
export interface Served {
  readonly apexes: readonly string[];
  readonly records: readonly Plain[];
}

const zoneFor = ({ apexes }: Served, name: string): string | undefined =>
  apexes.filter((apex) => below(name, apex)).toSorted((one, other) => other.length - one.length)[0];
const exists = ({ records, apexes }: Served, name: string): boolean =>
  [...records.map(({ owner }) => owner), ...apexes].some((owner) => below(owner, name));

/** The expected reply to a query. */
export function model(served: Served, name: string, type: string, links: readonly Plain[] = []): ReplyContent {
  const answers = links.map(line);
  const nothing: ReplyContent = { rcode: 'NOERROR', answers, additional: [], denies: undefined };
  const zone = zoneFor(served, name);
  if (zone === undefined) return links.length === 0 ? { ...nothing, rcode: 'REFUSED' } : nothing;
  if (!exists(served, name)) return { ...nothing, rcode: 'NXDOMAIN', denies: zone };
  const here = served.records.filter(({ owner }) => owner === name);
  const alias = here.find((record) => record.type === 'CNAME');
  if (alias !== undefined && type !== 'CNAME') {
    const isLoop = [...links, alias].some((link) => link.owner === alias.data);
    if (isLoop) return { ...nothing, rcode: 'SERVFAIL', answers: [] };
    return model(served, alias.data, type, [...links, alias]);
  }
  const found = here.filter((record) => record.type === type);
  if (found.length === 0) return { ...nothing, denies: zone };
  const targets = new Set(type === 'SRV' || type === 'NS' ? found.map(({ data }) => data.split(' ').at(-1)) : []);
  const isHost = ({ owner, type: of }: Plain): boolean => targets.has(owner) && (of === 'A' || of === 'AAAA');
  const additional = served.records.filter(isHost).map(line);
  return { ...nothing, answers: [...answers, ...found.map(line)], additional: additional.toSorted() };
}

/** The contents of a message, read with the independent decoder. */
export function contentOf(bytes: Uint8Array): ReplyContent {
  const packet = dnsPacket.decode(Buffer.from(bytes));
  const text = (answer: dnsPacket.Answer): string => `${answer.name} ${answer.type} ${packetText(answer)}`;
  const soas = packet.authorities?.map(({ name }) => name) ?? [];
  assert.ok(soas.length <= 1);
  return {
    rcode: (packet as { readonly rcode?: string }).rcode ?? '',
    answers: packet.answers?.map(text) ?? [],
    additional: (packet.additionals ?? [])
      .filter(({ type }) => type !== 'OPT')
      .map(text)
      .toSorted(),
    denies: soas[0],
  };
}

function packetText(answer: dnsPacket.Answer): string {
  const data: unknown = 'data' in answer ? answer.data : undefined;
  if (typeof data === 'string') return data;
  if (Array.isArray(data)) return data.map(String).join(' ');
  const {
    priority,
    weight,
    port,
    target: to,
  } = data as { priority: number; weight: number; port: number; target: string };
  return `${priority} ${weight} ${port} ${to}`;
}

/** The contents in an order that does not depend on rotation. */
export const sorted = (content: ReplyContent): ReplyContent => ({ ...content, answers: content.answers.toSorted() });
