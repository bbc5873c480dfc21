// Search-path completion: answers in one go what a resolver with `ndots:5` would find by trying its search list.
//
// A Pod's list is <ns>.svc.<zone>, svc.<zone>, <zone> and what its node adds. Its first try for `example.org` is
// `example.org.<ns>.svc.<zone>`; here that is answered with an alias to the first name of the list that exists. The
// namespace is read from the name, never guessed from the client's address, and existence is a property of a name and
// not of a type: so every client, and both A and AAAA, get the same decision.
import type { Name, RecordSet } from '../../dnswire/data.ts';
import { types } from '../../dnswire/codes.ts';
import { isWithin, labelsOf } from '../../dnswire/name.ts';
import type { NameAndType, Lookup } from './answer.ts';

export interface CompletionOptions {
  /** The cluster domain. */
  readonly zone: Name;
  /** What nodes add to the search lists of Pods, in order. */
  readonly search?: readonly Name[];
}

/** The names to try, in order, for a question that has no answer; none if it is not the first try of a search. */
export function candidates(zones: Lookup, { name, type }: NameAndType, options: CompletionOptions): readonly Name[] {
  if (type !== types.A && type !== types.AAAA) return [];
  const { zone, search = [] } = options;
  const services = `svc.${zone}`;
  if (!isWithin(name, services)) return [];
  const labels = labelsOf(name);
  const rest = labels.slice(0, labels.length - labelsOf(services).length - 1);
  // One label is the name of a Service that is not there; underscores are no host names.
  if (rest.length < 2 || rest.some((label) => label.startsWith('_'))) return [];
  const namespace = labels.slice(rest.length).join('.');
  if (zones.find(namespace) === undefined) return [];
  const host = rest.join('.');
  return [...[services, zone, ...search].map((suffix) => `${host}.${suffix}`), host];
}

/** Whether names below this one may be first tries, so that their absence must not be told without a look. */
export function isSearched(name: Name, { zone }: CompletionOptions): boolean {
  const services = `svc.${zone}`;
  return isWithin(name, services) && labelsOf(name).length === labelsOf(services).length + 1;
}

/** The alias from what was asked for to what was found. */
export const aliasTo = (owner: Name, target: Name, ttl: number): RecordSet => ({
  owner,
  type: 'CNAME',
  ttl,
  data: [{ type: 'CNAME', target }],
});
