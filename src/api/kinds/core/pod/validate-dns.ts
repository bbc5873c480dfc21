import { addressErrors } from '../../../address-errors.ts';
import type { FieldError } from '../../../field-errors.ts';
import { invalidAll, invalidValue, required } from '../../../field-errors.ts';
import type { PodSpec } from './schema.ts';

const maxNameservers = 3;
const maxSearches = 32;
const maxSearchCharacters = 2048;

/** A DNS subdomain whose labels may have underscores. */
const searchDomain = /^[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?)*$/;
const badSearch = String.raw`a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')`;

/** Validation errors of the resolver settings of a Pod at `path`. */
export function dnsErrors(
  config: PodSpec['dnsConfig'],
  path: string,
  policy: string | undefined,
): readonly FieldError[] {
  if (policy === 'None' && config === undefined)
    return [required(path, 'must provide `dnsConfig` when `dnsPolicy` is None')];
  const { nameservers = [], searches = [], options = [] } = config ?? {};
  if (policy === 'None' && nameservers.length === 0)
    return [required(`${path}.nameservers`, 'must provide at least one DNS nameserver when `dnsPolicy` is None')];
  const tooMany = (isOver: boolean, field: string, value: readonly string[], detail: string): readonly FieldError[] =>
    isOver ? [invalidValue(`${path}.${field}`, value, `must not have more than ${detail}`)] : [];
  return [
    ...tooMany(nameservers.length > maxNameservers, 'nameservers', nameservers, `${maxNameservers} nameservers`),
    ...nameservers.flatMap((address, index) =>
      invalidAll(`${path}.nameservers[${index}]`, address, addressErrors(address, false)),
    ),
    ...tooMany(searches.length > maxSearches, 'searches', searches, `${maxSearches} search paths`),
    ...tooMany(
      searches.join(' ').length > maxSearchCharacters,
      'searches',
      searches,
      `${maxSearchCharacters} characters (including spaces) in the search list`,
    ),
    ...searches.flatMap((search, index) => searchErrors(search, `${path}.searches[${index}]`)),
    ...options.flatMap(({ name = '' }, index) =>
      name === '' ? [required(`${path}.options[${index}]`, 'must not be empty')] : [],
    ),
  ];
}

function searchErrors(search: string, path: string): readonly FieldError[] {
  if (search === '.') return [];
  const domain = search.endsWith('.') ? search.slice(0, -1) : search;
  return [
    ...(domain.length > 253 ? [invalidValue(path, domain, 'must be no more than 253 characters')] : []),
    ...(searchDomain.test(domain) ? [] : [invalidValue(path, domain, badSearch)]),
  ];
}
