import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { boolean, bytes, map, optional, pointer, string } from '../../../schema/schema.ts';

export const secret = objectSchema('io.k8s.api.core.v1.Secret', 'Confidential data, such as passwords and keys.', {
  data: optional(2, map(bytes), 'The values, in base64.'),
  type: optional(3, string, 'The type of the Secret. Cannot be changed.'),
  stringData: optional(4, map(string), 'Values as plain text for writing; they become part of data.'),
  immutable: pointer(5, boolean, 'Whether the values cannot be changed.'),
});

export type Secret = Infer<typeof secret>;
