import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, optional, pointer, string, struct } from '../../../schema/schema.ts';

const networking = 'io.k8s.api.networking.v1';

const parentReference = struct(`${networking}.ParentReference`, 'Names the object that has an address.', {
  group: optional(1, string, 'Group of the object; empty for the core group.'),
  resource: optional(2, string, 'Resource of the object, such as services.', { required: true }),
  namespace: optional(3, string, 'Namespace of the object.'),
  name: optional(4, string, 'Name of the object.', { required: true }),
});

/** An IP address that is in use; its existence is the allocation (networking.k8s.io/v1). */
export const ipAddress = objectSchema(
  `${networking}.IPAddress`,
  'An IP address that is in use. Its name is the address in canonical form.',
  {
    spec: always(
      2,
      struct(`${networking}.IPAddressSpec`, 'Who has the address.', {
        parentRef: pointer(1, parentReference, 'The object that has the address. Cannot be changed.', {
          required: true,
        }),
      }),
      'Who has the address.',
    ),
  },
);

export type IpAddress = Infer<typeof ipAddress>;
export type ParentReference = Infer<typeof parentReference>;
