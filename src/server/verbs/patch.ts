import { badRequest, failure } from '../../api/errors.ts';
import { causesOf, invalidValue, joinErrors } from '../../api/field-errors.ts';
import type { Kind } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { DecodeError } from '../../api/schema/decode.ts';
import { isJsonObject } from '../../api/schema/json-object.ts';
import { JsonError } from '../../api/schema/json.ts';
import { maxProblems, unknownField } from '../../api/schema/path.ts';
import { goTypeName } from '../../api/schema/mismatch.ts';
import type { ServerContext } from '../context.ts';
import { applyJsonPatch } from '../patch/json-patch.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import { asJson } from '../patch/managed.ts';
import { printGo, printRestoreProblem } from '../patch/go-text.ts';
import { applyStrategicMergePatch } from '../patch/strategic.ts';
import type { Work } from '../limits/time-slicer.ts';
import type { ResourceRequest } from '../request.ts';
import type { Resource } from '../resource.ts';
import { applyPatch } from './apply.ts';
import { decodeObject, maxBodyBytes, mediaType, unsupportedPatch, withUniqueOwners } from './body.ts';
import { typeProblem } from './body-type.ts';
import { withUrlName } from './update.ts';
import { updateObject } from './update-object.ts';
import type { WriteCall, Written } from './write-request.ts';
import { clientRequest } from './write-request.ts';
import type { WriteOptions } from './write-options.ts';
import { parseWriteOptions } from './write-options.ts';

/** A patch type. */
interface Patcher {
  /** Reads the patch; throws a 400 for a body that is not a patch of this type. */
  read(body: unknown): unknown;
  /** Returns the patched document. */
  apply(document: Record<string, unknown>, body: unknown, kind: Kind, work: Work): unknown;
  /** Prints the patch in the error about an invalid result. */
  print(patched: unknown, body: unknown): string;
  /** The prefix of problems of the patch itself. */
  readonly problemPrefix: string;
  /** The error about a value of the wrong type in the patched object, from that of the JSON decoder. */
  readonly mismatch: (problem: string) => string;
}

const patchers = new Map<string, Patcher>([
  [
    'application/json-patch+json',
    {
      read: (body) => (body === null ? [] : body),
      apply: (document, body, _kind, work) => work.runSteps(applyJsonPatch(document, body)),
      print: (patched) => JSON.stringify(patched),
      problemPrefix: 'json patch ',
      mismatch: (problem) => problem,
    },
  ],
  [
    'application/merge-patch+json',
    {
      read: mergePatchOf,
      apply: (document, body, _kind, work) => work.run(() => applyMergePatch(document, body)),
      print: (patched) => JSON.stringify(patched),
      problemPrefix: '',
      mismatch: (problem) => problem,
    },
  ],
  [
    'application/strategic-merge-patch+json',
    {
      read: strategicPatchOf,
      apply: (document, body, kind, work) => work.run(() => applyStrategicMergePatch(document, body, kind.schema)),
      print: (_, body) => printGo(body),
      problemPrefix: '',
      mismatch: printRestoreProblem,
    },
  ],
]);

function mergePatchOf(body: unknown): unknown {
  if (body === null) throw badRequest('Invalid JSON Patch');
  if (isJsonObject(body)) return body;
  throw badRequest(`error decoding patch: ${notAnObject(body)}`);
}

/** The fields of a strategic merge patch without the type, which a patch cannot change. */
function strategicPatchOf(body: unknown): unknown {
  if (body === null) return {};
  if (!isJsonObject(body)) throw badRequest(notAnObject(body));
  const { kind: _, apiVersion: __, ...fields } = body;
  return fields;
}

const notAnObject = (body: unknown): string =>
  `json: cannot unmarshal ${goTypeName(body)} into Go value of type map[string]interface {}`;

const applyType = 'application/apply-patch+yaml';

/** PATCH of any of the four types. */
export async function patch(
  context: ServerContext,
  resource: Resource,
  info: ResourceRequest,
  { request, warnings, representation }: WriteCall,
): Promise<Written> {
  const type = mediaType(request);
  if (type === applyType) return applyPatch(context, resource, info, { request, warnings, representation });
  const { kind } = representation ?? resource;
  const patcher = patchers.get(type);
  if (patcher === undefined || (resource.kind.custom && type.includes('strategic'))) {
    throw unsupportedPatch(resource.kind, [...patchers.keys(), applyType]);
  }
  const options = parseWriteOptions(info.query, 'PatchOptions');
  const bytes = await request.body(maxBodyBytes);
  const sliced = context.timeSlicer.open(bytes.length);
  const parsed = await context.bodies.decode(bytes, 'json', sliced).catch((error: unknown) => {
    if (!(error instanceof JsonError)) throw error;
    throw badRequest(type.includes('strategic') ? error.message : `error decoding patch: ${error.message}`);
  });
  const body = patcher.read(parsed.value);
  const problems = [...parsed.duplicates, ...unknownInOperations(body)].map(
    (problem) => patcher.problemPrefix + problem,
  );
  const write = { ...clientRequest(info, { request, warnings }, options, sliced), representation };
  // A set, since `revise` runs again after a conflict.
  const warned = new Set<string>();
  try {
    return await updateObject(context, resource, write, {
      async revise(old, work) {
        const document = asJson(representation?.of(old) ?? old);
        const patched = await patcher.apply(document, body, kind, work);
        const shown = (): string => patcher.print(patched, body);
        return work.run(() => {
          const next = revised(kind, info, { patched, shown, mismatch: patcher.mismatch, options, problems, warned });
          return representation?.into(old, next) ?? next;
        });
      },
    });
  } finally {
    for (const warning of warned) warnings.push(warning);
  }
}

const operationFields = ['op', 'from', 'path', 'value'];

/** The unknown keys of the operations of a JSON patch. */
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

/** Decodes the patched document. An invalid result is a 422 about the patch. */
function revised(
  kind: Kind,
  info: ResourceRequest,
  patch: {
    readonly patched: unknown;
    readonly shown: () => string;
    readonly mismatch: Patcher['mismatch'];
    readonly options: WriteOptions;
    /** Problems of the patch itself. */
    readonly problems: readonly string[];
    /** Collects warnings for the client. */
    readonly warned: Set<string>;
  },
): ApiObject {
  const { patched, shown, mismatch, options, problems, warned } = patch;
  const wrongType = typeProblem(patched, kind);
  if (wrongType !== undefined) throw badPatch(shown(), wrongType.why);
  try {
    const { object, warnings } = decodeObject(patched, kind, {
      validation: options.fieldValidation,
      duplicates: problems,
      inOrder: (unknown) => [...problems, ...unknown],
    });
    const next = withUniqueOwners(withUrlName(object, info), warnings, ' after mutating admission happens');
    for (const warning of next.warnings) warned.add(warning);
    return kind.applyDefaults(next.object);
  } catch (error) {
    if (error instanceof DecodeError) throw badPatch(shown(), mismatch(error.message));
    throw error;
  }
}

/** Kubernetes does not name the object here. */
function badPatch(shown: string, why: string): Error {
  const errors = [invalidValue('patch', shown, why)];
  return failure({
    code: 422,
    reason: 'Invalid',
    message: ` "" is invalid: ${joinErrors(errors)}`,
    details: { causes: causesOf(errors) },
  });
}
