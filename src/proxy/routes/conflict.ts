// Describes claims that another owner displaces.
import { objectText } from '../../api/text.ts';
import type { RouteProblem } from '../backend.ts';
import type { Route } from './route.ts';
import { placeText, routeKey } from './route.ts';
import type { Basis } from './precedence.ts';
import { basisText } from './precedence.ts';

/** A route that an owner claims and another owner has. */
export interface RouteConflict extends Pick<Route, 'address' | 'protocol' | 'port'> {
  readonly loser: string;
  readonly winner: string;
  /** Why the winner has the address or port. */
  readonly basis: Basis;
}

/** One problem for each address and pair of owners, however many ports there are: each becomes an Event of the loser. */
export function conflictProblems(
  conflicts: readonly RouteConflict[],
): readonly (RouteProblem & Required<Pick<RouteProblem, 'fullText'>>)[] {
  const groups = Map.groupBy(conflicts, ({ address, winner, loser, basis }) =>
    JSON.stringify([address, winner, loser, basis]),
  );
  return Array.from(groups.values(), (group) => {
    const [first, ...more] = group.toSorted((a, b) => (routeKey(a) < routeKey(b) ? -1 : 1));
    if (first === undefined) throw new Error('bug: a group without members');
    const { loser, winner, basis, address, protocol } = first;
    const rest = more.length === 0 ? '' : ` and ${more.length} more ports`;
    const text = (holder: string): string =>
      `${loser} does not get ${placeText(first)}/${protocol}${rest}: ${address} ${basisText(basis)} of ${holder}`;
    return { owner: loser, text: text(ownerText(winner, loser)), fullText: text(winner) };
  });
}

/** How a message on the object of `reader` names another owner. Both are written as `Service shop/web`. */
function ownerText(owner: string, reader: string): string {
  const [[kind = '', key = ''], [, readerKey = '']] = [owner.split(' '), reader.split(' ')];
  return objectText(kind, key, readerKey.split('/')[0] ?? '');
}
