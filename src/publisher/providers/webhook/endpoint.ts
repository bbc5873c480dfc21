// Endpoints, the record sets of the webhook protocol, and domain filters.
import { isJsonObject } from '../../../api/schema/json-object.ts';
import type { Name } from '../../../dnswire/data.ts';
import { parseName } from '../../../dnswire/name.ts';
import { parseData, printData } from '../../../dnswire/text.ts';
import type { Properties, RecordSet } from '../../plan/record-set.ts';
import { recordSet } from '../../plan/record-set.ts';
import type { DomainFilter } from '../../plan/zones.ts';

/** A record set as the protocol has it. */
export interface Endpoint {
  readonly dnsName: string;
  readonly targets: readonly string[];
  readonly recordType: string;
  readonly setIdentifier?: string;
  readonly recordTTL?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly providerSpecific?: readonly { readonly name: string; readonly value: string }[];
}

/** Changes as the protocol has them: `updateOld[i]` becomes `updateNew[i]`. */
export interface EndpointChanges {
  readonly create: readonly Endpoint[];
  readonly updateOld: readonly Endpoint[];
  readonly updateNew: readonly Endpoint[];
  readonly delete: readonly Endpoint[];
}

/** Reads a list of endpoints. Throws if it is malformed. `null` is an empty list: Go encodes it so. */
export function readEndpoints(value: unknown): readonly Endpoint[] {
  if (value === null) return [];
  if (!Array.isArray(value)) throw new Error('expected a list of endpoints');
  return value.map((each: unknown, index) => {
    const endpoint = readEndpoint(each);
    if (endpoint === undefined) throw new Error(`endpoint ${index} is malformed`);
    return endpoint;
  });
}

const isText = (value: unknown): value is string => typeof value === 'string';

function readEndpoint(value: unknown): Endpoint | undefined {
  if (!isJsonObject(value)) return undefined;
  const { dnsName, recordType, setIdentifier = '', recordTTL = 0 } = value;
  const [targets, labels, providerSpecific] = [
    value['targets'] ?? [],
    value['labels'] ?? {},
    value['providerSpecific'] ?? [],
  ];
  if (!isText(dnsName) || !isText(recordType) || !isText(setIdentifier)) return undefined;
  if (typeof recordTTL !== 'number' || !Array.isArray(targets) || !targets.every(isText)) return undefined;
  if (!isJsonObject(labels) || !Object.values(labels).every(isText) || !Array.isArray(providerSpecific))
    return undefined;
  const settings: { readonly name: string; readonly value: string }[] = [];
  for (const each of providerSpecific as readonly unknown[]) {
    if (!isJsonObject(each)) return undefined;
    const { name = '', value: text = '' } = each;
    if (!isText(name) || !isText(text)) return undefined;
    settings.push({ name, value: text });
  }
  return {
    dnsName,
    recordType,
    targets,
    ...(setIdentifier === '' ? {} : { setIdentifier }),
    ...(recordTTL === 0 ? {} : { recordTTL }),
    ...(Object.keys(labels).length === 0 ? {} : { labels: labels as Readonly<Record<string, string>> }),
    ...(settings.length === 0 ? {} : { providerSpecific: settings }),
  };
}

/** The set of an endpoint; undefined: its name is not one of DNS. */
export function setOf({
  dnsName,
  recordType,
  recordTTL = 0,
  targets,
  providerSpecific = [],
}: Endpoint): RecordSet | undefined {
  const name = parseName(dnsName.toLowerCase());
  if (name === undefined) return undefined;
  const type = recordType.toUpperCase();
  const properties = Object.fromEntries(providerSpecific.map(({ name: key, value }) => [key, value]));
  return {
    ...recordSet(name, type, { ttl: recordTTL, values: targets.map((target) => valueOf(type, target)) }),
    properties,
  };
}

function valueOf(type: string, target: string): string {
  const data = parseData(type, target);
  if (data !== undefined) return printData(data);
  // Some providers remove the quotes of a text.
  return type === 'TXT' ? JSON.stringify(target) : target;
}

/** The endpoint of a set. */
export function endpointOf({ name, type, ttl, values }: RecordSet, properties: Properties = {}): Endpoint {
  const settings = Object.entries(properties).map(([key, value]) => ({ name: key, value }));
  return {
    dnsName: name,
    recordType: type,
    ...(ttl === 0 ? {} : { recordTTL: ttl }),
    // As ExternalDNS sends them: names that are the whole data have no trailing dot.
    targets: type === 'CNAME' ? values.map((value) => value.replace(/\.$/, '')) : values,
    ...(settings.length === 0 ? {} : { providerSpecific: settings }),
  };
}

/** Reads the domains that a provider manages. Its regular expressions are left to itself. Throws if it is malformed. */
export function readDomainFilter(value: unknown): DomainFilter {
  const filter = value ?? {};
  if (!isJsonObject(filter)) throw new Error('expected a domain filter');
  const list = (name: string): readonly string[] => {
    const domains = filter[name] ?? [];
    if (!Array.isArray(domains) || !domains.every(isText)) throw new Error(`expected a list of domains in ${name}`);
    return domains.filter((domain) => domain !== '');
  };
  return { include: list('include'), exclude: list('exclude') };
}

/** The zones of a domain filter. */
export const zonesIn = ({ include }: DomainFilter): readonly Name[] =>
  [...new Set(include.flatMap((domain) => parseName(domain.replace(/^\./, '').toLowerCase()) ?? []))].filter(
    (zone) => zone !== '',
  );
