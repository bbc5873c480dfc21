import { condition, objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, list, listMap, optional, string, struct } from '../../../schema/schema.ts';

const networking = 'io.k8s.api.networking.v1';

/** ServiceCIDR of networking.k8s.io/v1. */
export const serviceCidr = objectSchema(`${networking}.ServiceCIDR`, 'Ranges from which cluster IPs are allocated.', {
  spec: always(
    2,
    struct(`${networking}.ServiceCIDRSpec`, 'The ranges.', {
      cidrs: optional(1, list(string), 'One CIDR, or two of different families. A second may be added later.'),
    }),
    'The ranges.',
  ),
  status: always(
    3,
    struct(`${networking}.ServiceCIDRStatus`, 'The last known state of the ranges.', {
      conditions: optional(
        1,
        listMap(condition, ['type'], { mergeKey: 'type' }),
        'Ready: whether addresses are allocated from the ranges.',
      ),
    }),
    'The last known state. Written by the system.',
  ),
});

export type ServiceCidr = Infer<typeof serviceCidr>;
