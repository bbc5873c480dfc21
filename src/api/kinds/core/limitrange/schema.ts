import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, list, map, optional, quantity, string, struct } from '../../../schema/schema.ts';

const core = 'io.k8s.api.core.v1';

const limitRangeItem = struct(`${core}.LimitRangeItem`, 'Limits for one type of object.', {
  type: always(1, string, 'Pod, Container or PersistentVolumeClaim.', { required: true }),
  max: optional(2, map(quantity), 'Maximum.'),
  min: optional(3, map(quantity), 'Minimum.'),
  default: optional(4, map(quantity), 'Default limits.'),
  defaultRequest: optional(5, map(quantity), 'Default requests.'),
  maxLimitRequestRatio: optional(6, map(quantity), 'Maximum ratio of limits to requests.'),
});

export const limitRange = objectSchema(`${core}.LimitRange`, 'Limits and defaults for resources in a namespace.', {
  spec: always(
    2,
    struct(`${core}.LimitRangeSpec`, 'The limits.', {
      limits: always(1, list(limitRangeItem), 'Limits by type.', { required: true }),
    }),
    'The limits.',
  ),
});

export type LimitRange = Infer<typeof limitRange>;
export type LimitRangeItem = Infer<typeof limitRangeItem>;
