import type { FieldError } from '../../../field-errors.ts';
import { invalidValue } from '../../../field-errors.ts';
import type { Infer } from '../../../schema/infer.ts';
import { list, map, optional, pointer, string, struct } from '../../../schema/schema.ts';
import { nonResourceAttributes, questionErrors, resourceAttributes } from '../attributes.ts';
import { selectorErrors } from '../validate-selectors.ts';

/** Who would like to do what. */
export const subjectAccessReviewSpec = struct(
  'io.k8s.api.authorization.v1.SubjectAccessReviewSpec',
  'Who would like to do what. Exactly one kind of attributes is set.',
  {
    resourceAttributes: pointer(1, resourceAttributes, 'A request for a resource.'),
    nonResourceAttributes: pointer(2, nonResourceAttributes, 'A request for another path.'),
    user: optional(3, string, 'The user. Without groups, the user is in none.'),
    groups: optional(4, list(string), 'The groups of the user.'),
    extra: optional(5, map(list(string)), 'What else the credentials of the user say.'),
    uid: optional(6, string, 'Tells apart users who bore the same name at different times.'),
  },
);

/** What is wrong with the spec of a review. */
export function specErrors(spec: Infer<typeof subjectAccessReviewSpec>): FieldError[] {
  const { user = '', groups = [] } = spec;
  const isNobody = user === '' && groups.length === 0;
  return [
    ...questionErrors(spec),
    ...(isNobody ? [invalidValue('spec.user', user, 'at least one of user or group must be specified')] : []),
    ...selectorErrors(spec),
  ];
}
