import type { Infer } from '../../schema/infer.ts';
import { list, map, optional, string, struct } from '../../schema/schema.ts';

/** Who somebody is: what authentication finds out, and what access is decided by. */
export const userInfo = struct('io.k8s.api.authentication.v1.UserInfo', 'Who a request comes from.', {
  username: optional(1, string, 'The name that tells this user from all others.'),
  uid: optional(2, string, 'Tells apart users who bore the same name at different times.'),
  groups: optional(3, list(string), 'The groups this user is in.'),
  extra: optional(4, map(list(string)), 'What else the credentials say.'),
});

export type UserInfo = Infer<typeof userInfo>;
