import type { Service } from '../../api/kinds/core/service/schema.ts';
import { derivedFromAnnotation } from '../../api/kinds/multicluster/labels.ts';
import type { RouteConflict } from './conflict.ts';
import { importOwner } from './import.ts';
import { keyOfOwner } from './service.ts';

/** Whether a conflict is between an import and its derived Service: both have the same endpoints, so it is harmless. */
export function isOfOneImport(
  { winner, loser }: Pick<RouteConflict, 'winner' | 'loser'>,
  serviceOf: (key: string) => Service | undefined,
): boolean {
  const isDerivedFrom = (owner: string, other: string): boolean => {
    const from = serviceOf(keyOfOwner(owner))?.metadata.annotations?.[derivedFromAnnotation];
    return from !== undefined && other === importOwner(from);
  };
  return isDerivedFrom(winner, loser) || isDerivedFrom(loser, winner);
}
