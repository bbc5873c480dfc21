import { failure, invalid } from '../../api/errors.ts';
import { forbiddenField } from '../../api/field-errors.ts';
import { customResourceDefinitionKind } from '../../api/kinds/apiextensions/customresourcedefinition/kind.ts';
import { nativeConflict } from '../../api/kinds/apiextensions/customresourcedefinition/native.ts';
import type { CustomResourceDefinition } from '../../api/kinds/apiextensions/customresourcedefinition/schema.ts';
import type { Kind } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { Write } from '../../store/store.ts';
import type { Item } from '../cache/item.ts';
import type { ServerContext } from '../context.ts';
import { notServed } from '../reply.ts';
import type { Resource } from '../resource.ts';
import { kindSubject } from '../resource.ts';

/** Throws a 422 for a definition that contradicts a kind that the server itself serves. */
export function admitDefinition(
  { resources }: ServerContext,
  resource: Resource,
  _request: unknown,
  { next }: { readonly next: ApiObject },
): void {
  const crd = next as CustomResourceDefinition; // decoded by its schema
  const conflict = nativeConflict(crd, resources.own);
  if (conflict !== undefined) {
    throw invalid(kindSubject(resource, crd.metadata.name ?? ''), [forbiddenField('spec', conflict)]);
  }
}

/** The stored definition of a custom resource. */
function definitionOf({ watchCache }: ServerContext, { group, plural }: Kind): Item | undefined {
  const cache = watchCache.of(customResourceDefinitionKind);
  return cache.get(cache.key('', `${plural}.${group}`));
}

/**
 * The check that the commit of a new custom resource needs if other servers share the store: one of them may delete the
 * definition at the same time, and would not delete an object that is created later.
 */
export function definitionCheck(context: ServerContext, { kind }: Resource): readonly Write[] {
  if (!context.store.isShared || kind.source === undefined) return [];
  const item = definitionOf(context, kind);
  return item === undefined ? [] : [{ key: item.key, value: undefined, expect: item.revision, isCheck: true }];
}

/** Throws a 404 or 405 if the definition of a new custom resource is deleted or is being deleted. */
export function checkDefinition(context: ServerContext, { kind }: Resource): void {
  if (kind.source === undefined) return;
  const item = definitionOf(context, kind);
  if (item === undefined) throw notServed();
  if (item.object.metadata.deletionTimestamp !== undefined) throw terminating();
}

/** The error for a new object of a custom resource whose definition is being deleted. */
export const terminating = (): Error =>
  failure({
    code: 405,
    reason: 'MethodNotAllowed',
    message: 'create not allowed while custom resource definition is terminating',
    details: {},
  });
