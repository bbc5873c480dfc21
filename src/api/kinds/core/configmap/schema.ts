import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { boolean, bytes, map, optional, pointer, string } from '../../../schema/schema.ts';

export const configMap = objectSchema('io.k8s.api.core.v1.ConfigMap', 'Configuration data.', {
  data: optional(2, map(string), 'Values as text. Keys must not occur in binaryData.'),
  binaryData: optional(3, map(bytes), 'Values that are not text.'),
  immutable: pointer(4, boolean, 'Whether the values cannot be changed.'),
});

export type ConfigMap = Infer<typeof configMap>;
