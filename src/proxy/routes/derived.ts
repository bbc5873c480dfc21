import type { Service } from '../../api/kinds/core/service/schema.ts';
import { derivedFromAnnotation } from '../../api/kinds/multicluster/labels.ts';
import type { RouteConflict } from './conflict.ts';
import { importOwner } from './import.ts';
import { keyOfOwner } from './service.ts';

/** Whether an import and the Service that stands for it want one address: both lead to the same, and nobody misses it. */
export function isOfOneImport(
  { winner, loser }: Pick<RouteConflict, 'winner' | 'loser'>,
  serviceOf: (key: string) => Service | undefined,
): boolean {
  const standsFor = (owner: string, other: string): boolean => {
    const from = serviceOf(keyOfOwner(owner))?.metadata.annotations?.[derivedFromAnnotation];
    return from !== undefined && other === importOwner(from);
  };
  return standsFor(winner, loser) || standsFor(loser, winner);
}
