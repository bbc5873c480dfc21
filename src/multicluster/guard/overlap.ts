// Finds members whose Pods have addresses of other members, so that no network can route them.
import type { Cidr } from '../../api/addresses.ts';
import { contains, printCidr } from '../../api/addresses.ts';

/** A member and the declared ranges of its endpoints. */
export interface DeclaredRanges {
  readonly id: string;
  readonly endpointRanges: readonly Cidr[];
  /** Other clusters reach its Pods by their addresses. */
  readonly exportsPods: boolean;
}

/**
 * Why the Pods of a member cannot be routed; undefined: no declared range overlaps. Ranges that accept all addresses declare none.
 */
export function overlapProblem(member: DeclaredRanges, others: readonly DeclaredRanges[]): string | undefined {
  if (!member.exportsPods) return undefined;
  for (const other of others) {
    if (other.id === member.id || !other.exportsPods) continue;
    for (const range of declared(member)) {
      const overlapping = declared(other).find((each) => isOverlap(range, each));
      if (overlapping === undefined) continue;
      return (
        `its endpointCIDRs ${printCidr(range)} overlap ${printCidr(overlapping)} of cluster ${other.id}, so clients cannot reach the Pods of both: ` +
        'set addressMode to gateway, loadbalancer or nodeport in one of them, or use distinct ranges'
      );
    }
  }
  return undefined;
}

const declared = ({ endpointRanges }: DeclaredRanges): readonly Cidr[] =>
  endpointRanges.filter(({ prefixLength }) => prefixLength > 0);

const isOverlap = (left: Cidr, right: Cidr): boolean =>
  left.family === right.family &&
  (left.prefixLength <= right.prefixLength
    ? contains(left, { family: right.family, value: right.network })
    : contains(right, { family: left.family, value: left.network }));
