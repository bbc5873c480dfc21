import type { Kind } from '../../api/kind.ts';
import type { FieldSet } from '../patch/fields/set.ts';
import { emptySet, fieldSetOf } from '../patch/fields/set.ts';
import type { Subresource } from './write-request.ts';

const status = fieldSetOf(['status']);
const spec = fieldSetOf(['spec']);

/** The fields that an endpoint leaves as they are, and that a write through it never owns. */
export function resetFieldsOf(kind: Kind, subresource: Subresource): FieldSet {
  if (subresource === 'status') return spec;
  return kind.hasStatus ? status : emptySet;
}
