import { badRequest, failure } from '../../api/errors.ts';
import { causesOf, invalidValue, joinErrors } from '../../api/field-errors.ts';
import type { Kind } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { DecodeError } from '../../api/schema/decode.ts';
import { isJsonObject } from '../../api/schema/json-object.ts';
import type { ParsedJson } from '../../api/schema/json.ts';
import { JsonError } from '../../api/schema/json.ts';
import { maxProblems, unknownField } from '../../api/schema/path.ts';
import { goWord } from '../../api/schema/mismatch.ts';
import type { ServerContext } from '../context.ts';
import { applyJsonPatch } from '../patch/json-patch.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import { asJson } from '../patch/managed.ts';
import { printGo } from '../patch/go-text.ts';
import { applyStrategicMergePatch } from '../patch/strategic.ts';
import type { Work } from '../limits/time-slicer.ts';
import type { ApiRequest } from '../reply.ts';
import type { ResourceRequest } from '../request.ts';
import type { Resource } from '../resource.ts';
import { applyPatch } from './apply.ts';
import { decodeObject, maxBodyBytes, mediaType, unsupportedPatch } from './body.ts';
import { typeProblem } from './body-type.ts';
import { decodeBody } from './decode-body.ts';
import { withUniqueOwners } from './owners.ts';
import { named } from './update.ts';
import { updateObject } from './update-object.ts';
import type { Written } from './write-request.ts';
import { clientRequest } from './write-request.ts';
import type { WriteOptions } from './write-options.ts';
import { parseWriteOptions } from './write-options.ts';

/** One way to patch. */
interface Patcher {
  /** Undefined: there is nothing to change. Throws a 400 for a body that is no patch of this type. */
  read(body: unknown): unknown;
  /** The patched document of an object's JSON. */
  apply(document: Record<string, unknown>, body: unknown, kind: Kind, work: Work): unknown;
  /** How messages show the patch that made a bad object. */
  shown(patched: unknown, body: unknown): string;
  /** Stands before what is wrong with the patch itself. */
  readonly told: string;
}

const patchers = new Map<string, Patcher>([
  [
    'application/json-patch+json',
    {
      read: (body) => (body === null ? [] : body),
      apply: (document, body, _kind, work) => work.runSteps(applyJsonPatch(document, body)),
      shown: (patched) => JSON.stringify(patched),
      told: 'json patch ',
    },
  ],
  [
    'application/merge-patch+json',
    {
      read: mergePatchOf,
      apply: (document, body, _kind, work) => work.run(() => applyMergePatch(document, body)),
      shown: (patched) => JSON.stringify(patched),
      told: '',
    },
  ],
  [
    'application/strategic-merge-patch+json',
    {
      read: strategicPatchOf,
      apply: (document, body, kind, work) => work.run(() => applyStrategicMergePatch(document, body, kind.schema)),
      shown: (_, body) => printGo(body),
      told: '',
    },
  ],
]);

function mergePatchOf(body: unknown): unknown {
  if (body === null) throw badRequest('Invalid JSON Patch');
  if (isJsonObject(body)) return body;
  throw badRequest(`error decoding patch: ${notAnObject(body)}`);
}

/** It is about the fields of the object; what the object is, it cannot change. */
function strategicPatchOf(body: unknown): unknown {
  if (body === null) return {};
  if (!isJsonObject(body)) throw badRequest(notAnObject(body));
  const { kind: _, apiVersion: __, ...fields } = body;
  return fields;
}

const notAnObject = (body: unknown): string =>
  `json: cannot unmarshal ${goWord(body)} into Go value of type map[string]interface {}`;

const applyType = 'application/apply-patch+yaml';

/** PATCH in any of its four kinds. */
export async function patch(
  context: ServerContext,
  resource: Resource,
  info: ResourceRequest,
  { request, warnings }: { readonly request: ApiRequest; readonly warnings: string[] },
): Promise<Written> {
  const type = mediaType(request);
  if (type === applyType) return applyPatch(context, resource, info, { request, warnings });
  const patcher = patchers.get(type);
  if (patcher === undefined || (resource.kind.custom && type.includes('strategic'))) {
    throw unsupportedPatch(resource.kind, [...patchers.keys(), applyType]);
  }
  const options = parseWriteOptions(info.query, 'PatchOptions');
  const bytes = await request.body(maxBodyBytes);
  const sliced = context.timeSlicer.open(bytes.length);
  const parsed = await parsePatch(bytes, type, sliced);
  const body = patcher.read(parsed.value);
  const problems = [...parsed.duplicates, ...unknownInOperations(body)].map((problem) => patcher.told + problem);
  const write = clientRequest(info, { request, warnings }, options, sliced);
  // A set, since `revise` runs again when another write comes first.
  const told = new Set<string>();
  try {
    return await updateObject(context, resource, write, {
      async revise(old, work) {
        const patched = await patcher.apply(asJson(old), body, resource.kind, work);
        const shown = (): string => patcher.shown(patched, body);
        return work.run(() => revised(resource.kind, info, { patched, shown, options, problems, told }));
      },
    });
  } finally {
    for (const warning of told) warnings.push(warning);
  }
}

async function parsePatch(bytes: Buffer, type: string, work: Work): Promise<ParsedJson> {
  try {
    return await decodeBody(bytes, 'json', work);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw badRequest(type.includes('strategic') ? error.message : `error decoding patch: ${error.message}`);
  }
}

const operationFields = ['op', 'from', 'path', 'value'];

/** Keys that no operation of a JSON patch has. */
function unknownInOperations(body: unknown): readonly string[] {
  if (!Array.isArray(body)) return [];
  const unknown: string[] = [];
  for (const [step, operation] of body.entries()) {
    for (const key of Object.keys(isJsonObject(operation) ? operation : {})) {
      if (unknown.length === maxProblems) return unknown;
      if (!operationFields.includes(key))
        unknown.push(unknownField({ parent: { parent: undefined, step }, step: key }));
    }
  }
  return unknown;
}

/** The patched document as an object again. A patch that makes a bad one is a 422 about the patch. */
function revised(
  kind: Kind,
  info: ResourceRequest,
  patch: {
    readonly patched: unknown;
    readonly shown: () => string;
    readonly options: WriteOptions;
    /** What is wrong with the patch itself. */
    readonly problems: readonly string[];
    /** Collects what the client is warned of. */
    readonly told: Set<string>;
  },
): ApiObject {
  const { patched, shown, options, problems, told } = patch;
  const wrongType = typeProblem(patched, kind);
  if (wrongType !== undefined) throw badPatch(shown(), wrongType.why);
  try {
    const { object, warnings } = decodeObject(patched, kind, {
      validation: options.fieldValidation,
      duplicates: problems,
      inOrder: (unknown) => [...problems, ...unknown],
    });
    const next = withUniqueOwners(named(object, info), warnings, ' after mutating admission happens');
    for (const warning of next.warnings) told.add(warning);
    return kind.applyDefaults(next.object);
  } catch (error) {
    if (error instanceof DecodeError) throw badPatch(shown(), error.message);
    throw error;
  }
}

/** Kubernetes does not say here which object it is about. */
function badPatch(shown: string, why: string): Error {
  const errors = [invalidValue('patch', shown, why)];
  return failure({
    code: 422,
    reason: 'Invalid',
    message: ` "" is invalid: ${joinErrors(errors)}`,
    details: { causes: causesOf(errors) },
  });
}
