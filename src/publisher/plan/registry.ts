// Who owns a set: TXT records beside it, in the format of ExternalDNS' TXT registry.
import type { Name } from '../../dnswire/data.ts';
import { parseData } from '../../dnswire/text.ts';
import type { RecordSet } from './record-set.ts';
import { publishedTypes } from './record-set.ts';
import { byKey } from '../../api/order.ts';

/** How the names of registry records are made: the options of ExternalDNS. */
export interface RegistryOptions {
  readonly ownerId: string;
  /** Before the first label; may contain `%{record_type}`. */
  readonly prefix: string;
  /** After the first label. Prefix and suffix exclude each other. */
  readonly suffix: string;
  /** Replaces `*` in names of registry records. */
  readonly wildcardReplacement: string;
  /** Records of this owner are taken over. */
  readonly migrateFrom?: string | undefined;
}

const typePattern = '%{record_type}';

/** The name of the registry record of a set. */
export function registryName(name: Name, type: string, options: RegistryOptions): Name {
  const [first, rest] = split(name);
  const kind = type.toLowerCase();
  const prefix = options.prefix.replaceAll(typePattern, kind);
  const suffix = options.suffix.replaceAll(typePattern, kind);
  const hasType = options.prefix.includes(typePattern) || options.suffix.includes(typePattern);
  const label = options.wildcardReplacement !== '' && first === '*' ? options.wildcardReplacement : first;
  // Without a pattern the type comes before the name, after the prefix.
  const whole = hasType ? `${prefix}${label}${suffix}` : `${prefix}${kind}-${label}${suffix}`;
  return (rest === '' ? whole : `${whole}.${rest}`).toLowerCase();
}

/** The name in the format before v0.18 of ExternalDNS, without a type. It is read, and never written. */
export function legacyRegistryName(name: Name, options: RegistryOptions): Name {
  const [first, rest] = split(name);
  const label = options.wildcardReplacement !== '' && first === '*' ? options.wildcardReplacement : first;
  const affix = (text: string): string => text.replaceAll(typePattern, '');
  const whole = `${affix(options.prefix)}${label}${affix(options.suffix)}`;
  return (rest === '' ? whole : `${whole}.${rest}`).toLowerCase();
}

/** The names with a set whose registry record may be at a name, in either format. */
export function registeredNames(record: Name, options: RegistryOptions): readonly Name[] {
  const { prefix, suffix, wildcardReplacement } = options;
  const hasType = prefix.includes(typePattern) || suffix.includes(typePattern);
  const names = new Set<Name>();
  for (const kind of ['', ...publishedTypes.map((type) => type.toLowerCase())]) {
    const of = (affix: string): string => affix.replaceAll(typePattern, kind).toLowerCase();
    const before = hasType || kind === '' ? of(prefix) : `${of(prefix)}${kind}-`;
    for (const name of withoutAffixes(record, before, of(suffix))) {
      names.add(name);
      if (wildcardReplacement !== '' && split(name)[0] === wildcardReplacement.toLowerCase())
        names.add(name.replace(/^[^.]*/, '*'));
    }
  }
  return [...names];
}

/** The names that a prefix of the whole and a suffix of the first label make a name of. */
function withoutAffixes(text: Name, prefix: string, suffix: string): readonly Name[] {
  if (!text.startsWith(prefix)) return [];
  const rest = text.slice(prefix.length);
  const [first] = split(rest);
  // The first label may end with what the suffix begins with.
  return Array.from({ length: first.length + 1 }, (_, index) => index).flatMap((index) => {
    const end = index + suffix.length;
    const isSuffix = index > 0 && rest.startsWith(suffix, index) && (end === rest.length || rest[end] === '.');
    return isSuffix ? [`${rest.slice(0, index)}${rest.slice(end)}`] : [];
  });
}

function split(name: Name): readonly [string, string] {
  const dot = name.indexOf('.');
  return dot === -1 ? [name, ''] : [name.slice(0, dot), name.slice(dot + 1)];
}

/** The content of a registry record. */
export interface Ownership {
  readonly owner: string;
  /** The object, such as `service/shop/cart`. */
  readonly resource: string;
  /** Keys of other programs, which are preserved. */
  readonly others: ReadonlyMap<string, string>;
}

const heritage = 'heritage=external-dns';
const ownerKey = 'external-dns/owner';
const resourceKey = 'external-dns/resource';

/** The value of a registry record, in zone file format. */
export function printOwnership({ owner, resource, others }: Ownership): string {
  const pairs = new Map([...others, [ownerKey, owner], [resourceKey, resource]]);
  const sorted = [...pairs].toSorted(byKey).map(([key, value]) => `${key}=${value}`);
  return JSON.stringify([heritage, ...sorted].join(','));
}

/** Parses the value of a TXT record; undefined: it is not of a registry. */
export function parseOwnership(value: string): Ownership | undefined {
  const data = parseData('TXT', value);
  const text = data?.type === 'TXT' ? data.text.join('') : '';
  // Some servers keep quotes that belong to the data.
  const parts = text.replaceAll('"', '').split(',');
  if (!parts.includes(heritage)) return undefined;
  const pairs = new Map(parts.map((part) => [part.slice(0, part.indexOf('=')), part.slice(part.indexOf('=') + 1)]));
  const owner = pairs.get(ownerKey);
  if (owner === undefined) return undefined;
  const resource = pairs.get(resourceKey) ?? '';
  for (const key of ['heritage', ownerKey, resourceKey]) pairs.delete(key);
  return { owner, resource, others: pairs };
}

const parsed = new WeakMap<RecordSet, readonly Ownership[]>();

/** The owners that a TXT set names: none, one, or several that disagree. */
export function ownershipsIn(set: RecordSet): readonly Ownership[] {
  const known = parsed.get(set);
  if (known !== undefined) return known;
  const all = set.values.flatMap((value) => parseOwnership(value) ?? []);
  parsed.set(set, all);
  return all;
}
