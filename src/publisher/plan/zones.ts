// Which zone a name is in, and which names may be published.
import type { Name } from '../../dnswire/data.ts';
import { encodeName, isWithin, parseName } from '../../dnswire/name.ts';

/** `example.org`: that name and all below. `.example.org`: only names below. */
export interface DomainFilter {
  /** Empty: all. */
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

/** The zone of a name: the longest that contains it; undefined: none does. */
export function zoneOf(name: Name, zones: readonly Name[]): Name | undefined {
  const containing = zones.filter((zone) => isWithin(name, zone));
  return containing.toSorted((a, b) => b.length - a.length)[0];
}

/** Whether the filter lets a name pass; exclusions win. */
export const passes = (name: Name, { include, exclude }: DomainFilter): boolean =>
  (include.length === 0 || include.some((domain) => matches(name, domain))) &&
  !exclude.some((domain) => matches(name, domain));

function matches(name: Name, domain: string): boolean {
  const parent = domain.replace(/^\./, '').replace(/\.$/, '').toLowerCase();
  return isWithin(name, parent) && (name !== parent || !domain.startsWith('.'));
}

/** Parses the value of an annotation: a host name, whose first label may be `*`. Returns a sentence if it is none. */
export function parseHostname(text: string): { readonly name: Name } | { readonly error: string } {
  const name = parseName(text.toLowerCase());
  const labels = name?.split('.') ?? [];
  const isHost =
    labels.length > 1 &&
    labels.every(
      (label, index) => (index === 0 && label === '*') || /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/.test(label),
    );
  if (name === undefined || !isHost)
    return {
      error: `"${text}" is not a host name: use labels of up to 63 letters, digits and "-", such as shop.example.org`,
    };
  return { name };
}

/** Whether the first label is `*`. */
export const isWildcard = (name: Name): boolean => name.startsWith('*.');

/** Whether labels and length fit into a DNS message. */
export const isEncodable = (name: Name): boolean => encodeName(name) !== undefined;
