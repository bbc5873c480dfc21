// Endpoints are one object, so that they have to end somewhere: at 1000 addresses.
import type { EndpointAddress, EndpointSubset } from '../../api/kinds/core/endpoints/schema.ts';

/** How many addresses an Endpoints object holds at most. */
const maxAddresses = 1000;

/** The subsets cut to `maxAddresses`, ready addresses first; undefined if they already fit. */
export function truncated(subsets: readonly EndpointSubset[]): readonly EndpointSubset[] | undefined {
  const ready = subsets.reduce((sum, { addresses = [] }) => sum + addresses.length, 0);
  const notReady = subsets.reduce((sum, { notReadyAddresses = [] }) => sum + notReadyAddresses.length, 0);
  if (ready + notReady <= maxAddresses) return undefined;
  const readyCut = cutter(ready, Math.min(ready, maxAddresses));
  const notReadyCut = cutter(notReady, Math.max(0, maxAddresses - ready));
  return subsets.flatMap(({ addresses = [], notReadyAddresses = [], ...rest }) => {
    const kept = readyCut(addresses);
    const keptNotReady = notReadyCut(notReadyAddresses);
    if (kept.length + keptNotReady.length === 0) return [];
    return [
      {
        ...(kept.length === 0 ? {} : { addresses: kept }),
        ...(keptNotReady.length === 0 ? {} : { notReadyAddresses: keptNotReady }),
        ...rest,
      },
    ];
  });
}

/** Cuts one list after the other in proportion, until `budget` of `total` is used up. */
function cutter(total: number, budget: number): (list: readonly EndpointAddress[]) => readonly EndpointAddress[] {
  let left = budget;
  return (list) => {
    const count = Math.min(Math.ceil((list.length / Math.max(total, 1)) * budget), left);
    left -= count;
    return list.slice(0, count);
  };
}
