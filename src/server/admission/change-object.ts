// Changes that webhooks and policies make to the object of a write.

import { apiVersionOf } from '../../api/kind.ts';
import type { Kind } from '../../api/kind.ts';
import { decode, DecodeError } from '../../api/schema/decode.ts';
import { isJsonObject } from '../../api/schema/json-object.ts';
import { internalError } from '../../api/errors.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { ServerContext } from '../context.ts';
import { asJson } from '../patch/managed.ts';
import type { Work } from '../limits/time-slicer.ts';
import { withMetadata } from '../verbs/write-request.ts';
import type { AdmissionAttributes } from './attributes.ts';
import { reviewed } from './attributes.ts';
import type { ChangeObject } from './mutation-round.ts';

/** How the object of a write is changed. */
export const objectChanger =
  (
    { conversions }: Pick<ServerContext, 'conversions'>,
    attributes: AdmissionAttributes,
    work: Pick<Work, 'run' | 'runSteps'>,
  ): ChangeObject =>
  async (object, kind, change) => {
    const shown = attributes.representation?.kind ?? kind;
    const document = asJson(reviewed(attributes, object, kind) ?? object);
    const changed = await work.runSteps(change(document, shown.schema));
    if (changed === document) return object;
    const made = await work.run(() => decoded(shown, changed));
    const next =
      attributes.representation?.into?.(object, made) ?? (await conversions.convert(made, kind, attributes.kind));
    const type = { kind: attributes.kind.kind, apiVersion: apiVersionOf(attributes.kind) };
    return work.run(() => withSystemFields({ ...next, ...type }, object));
  };

function decoded(kind: Kind, patched: unknown): ApiObject {
  if (!isJsonObject(patched)) throw internalError(`the patched ${kind.kind} is not an object`);
  try {
    return kind.applyDefaults(decode<ApiObject>(kind.schema, patched).object);
  } catch (error) {
    if (error instanceof DecodeError) throw internalError(error.message);
    throw error;
  }
}

/** The metadata that the server sets. As in Kubernetes, webhooks and policies that change a new object see none of it. */
const systemFields: ReadonlySet<string> = new Set([
  'uid',
  'creationTimestamp',
  'generation',
  'resourceVersion',
  'managedFields',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
]);

export function withoutSystemFields(object: ApiObject): ApiObject {
  const kept = Object.entries(object.metadata).filter(([name]) => !systemFields.has(name));
  return { ...object, metadata: Object.fromEntries(kept) };
}

/** The object with the system fields of another, which webhooks and policies cannot change. */
export function withSystemFields(object: ApiObject, source: ApiObject): ApiObject {
  const fields = Object.entries(source.metadata).filter(([name]) => systemFields.has(name));
  return withMetadata(withoutSystemFields(object), Object.fromEntries(fields));
}
