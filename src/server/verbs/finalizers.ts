import type { Kind } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';

/** Whether finalizers keep the object from being removed. */
export const isHeld = ({ deletion }: Kind, object: ApiObject): boolean =>
  (object.metadata.finalizers ?? []).length > 0 || (deletion.finalizers?.(object) ?? []).length > 0;
