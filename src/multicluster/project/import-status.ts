// Computes the status of a ServiceImport.
import type { View } from '../merge/merged.ts';
import type { VipState } from '../vip/allocator.ts';
import type { ImportStatus } from './desired.ts';
import { keptOf } from './imports.ts';
import type { PlannedCondition } from './conditions.ts';

/** The status of a ServiceImport, with the fields that the member stores. `endpointSliceObjects` is constant: every import has slices. */
export const importStatusFor = (
  { clusters }: View,
  vip: VipState,
  fields: ReadonlySet<string> | undefined,
): ImportStatus => ({
  clusters: clusters.map(({ cluster }) => ({ cluster })),
  ...keptOf(fields, { endpointSliceObjects: 'Present' as const, conditions: [readiness(vip)] }),
});

function readiness(vip: VipState): PlannedCondition {
  switch (vip.state) {
    case 'reserved':
      return { type: 'Ready', status: 'True', reason: 'Ready', message: 'the service can be used in this cluster' };
    case 'unneeded':
      return {
        type: 'Ready',
        status: 'True',
        reason: 'Ready',
        message: 'the service is headless and needs no address',
      };
    case 'pending':
      return { type: 'Ready', status: 'False', reason: 'Pending', message: 'the service has no address yet' };
    case 'exhausted':
      return { type: 'Ready', status: 'False', reason: 'Pending', message: vip.message };
    case 'unsupported':
      return { type: 'Ready', status: 'False', reason: 'IPFamilyNotSupported', message: vip.message };
  }
}
