import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import type { Kind } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';

/** Something still has to happen before the object may go. A Namespace has finalizers in its spec too. */
export function isHeld(kind: Kind, object: ApiObject): boolean {
  if ((object.metadata.finalizers?.length ?? 0) > 0) return true;
  return kind === namespaceKind && specFinalizers(object).length > 0;
}

function specFinalizers(object: ApiObject): readonly unknown[] {
  const spec: unknown = Reflect.get(object, 'spec');
  const finalizers: unknown = typeof spec === 'object' && spec !== null ? Reflect.get(spec, 'finalizers') : undefined;
  return Array.isArray(finalizers) ? finalizers : [];
}
