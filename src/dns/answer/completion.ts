// Search-path completion: answers with one reply what a resolver with `ndots:5` would find by trying its search list.
//
// The list of a Pod is <ns>.svc.<zone>, svc.<zone>, <zone> and the suffixes of its node. Its first query for `example.org`
// is `example.org.<ns>.svc.<zone>`; the reply is an alias to the first name of the list that exists. The namespace is read
// from the name, not from the client's address, and existence does not depend on the type: every client, and A and AAAA,
// get the same answer.
import type { Name, RecordSet } from '../../dnswire/data.ts';
import { types } from '../../dnswire/codes.ts';
import { isWithin, labelsOf } from '../../dnswire/name.ts';
import type { NameAndType, Lookup } from './answer.ts';

export interface CompletionOptions {
  /** The cluster domain. */
  readonly zone: Name;
  /** Suffixes that nodes add to the search lists of Pods, in order. */
  readonly search?: readonly Name[];
}

/** The names to try, in order, for a query answered NXDOMAIN; none if it is not the first query of a search. */
export function searchCandidates(
  zones: Lookup,
  { name, type }: NameAndType,
  options: CompletionOptions,
): readonly Name[] {
  if (type !== types.A && type !== types.AAAA) return [];
  const { zone, search = [] } = options;
  const services = `svc.${zone}`;
  if (!isWithin(name, services)) return [];
  const labels = labelsOf(name);
  const rest = labels.slice(0, labels.length - labelsOf(services).length - 1);
  // A single label is a Service that does not exist, and host names have no underscores.
  if (rest.length < 2 || rest.some((label) => label.startsWith('_'))) return [];
  const namespace = labels.slice(rest.length).join('.');
  if (zones.find(namespace) === undefined) return [];
  const host = rest.join('.');
  return [...[services, zone, ...search].map((suffix) => `${host}.${suffix}`), host];
}

/** Whether names below this one may be first queries of a search, so that NXDOMAIN needs the slow path. */
export function isSearched(name: Name, { zone }: CompletionOptions): boolean {
  const services = `svc.${zone}`;
  return isWithin(name, services) && labelsOf(name).length === labelsOf(services).length + 1;
}

/** The alias from the query name to the name that was found. */
export const aliasTo = (owner: Name, target: Name, ttl: number): RecordSet => ({
  owner,
  type: 'CNAME',
  ttl,
  data: [{ type: 'CNAME', target }],
});
