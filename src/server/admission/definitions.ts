import { invalid } from '../../api/errors.ts';
import { forbiddenField } from '../../api/field-errors.ts';
import { nativeConflict } from '../../api/kinds/apiextensions/customresourcedefinition/native.ts';
import type { CustomResourceDefinition } from '../../api/kinds/apiextensions/customresourcedefinition/schema.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { ServerContext } from '../context.ts';
import type { Resource } from '../resource.ts';
import { kindSubject } from '../resource.ts';

/** Throws a 422 for a definition that contradicts a kind that the server itself serves. */
export function admitDefinition(
  { resources }: ServerContext,
  resource: Resource,
  _request: unknown,
  { next }: { readonly next: ApiObject },
): void {
  const conflict = nativeConflict(next as CustomResourceDefinition, resources.own); // decoded by its schema
  if (conflict === undefined) return;
  throw invalid(kindSubject(resource, next.metadata.name ?? ''), [forbiddenField('spec', conflict)]);
}
