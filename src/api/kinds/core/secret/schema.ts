import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { boolean, bytes, map, optional, pointer, string } from '../../../schema/schema.ts';

/** Values that not everyone may read. */
export const secret = objectSchema('io.k8s.api.core.v1.Secret', 'Values that not everyone may read, such as keys.', {
  data: optional(2, map(bytes), 'The values, in base64.'),
  type: optional(3, string, 'What the values are for. Cannot be changed.'),
  stringData: optional(4, map(string), 'Values as plain text for writing; they become part of data.'),
  immutable: pointer(5, boolean, 'Whether the values can never change again.'),
});

export type Secret = Infer<typeof secret>;
