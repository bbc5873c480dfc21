import { truncate } from '../../api/text.ts';
import { badRequest } from '../../api/errors.ts';
import type { Kind } from '../../api/kind.ts';
import { apiVersionOf } from '../../api/kind.ts';
import { kindNamed } from '../../api/kinds/registry.ts';
import { goTypeName } from '../../api/schema/mismatch.ts';
import { isJsonObject } from '../../api/schema/json-object.ts';

/** Bytes of an invalid body that the error quotes. */
const shownBytes = 30;

/** A 400 for a body without a recognizable type. */
export const unrecognised = (kind: Kind, why: string, body: Buffer): Error =>
  badRequest(`the object provided is unrecognized (must be of type ${kind.kind}): ${why} (${summary(body)})`);

/** Kubernetes' message for a body whose type cannot be parsed. */
export const noVersion = (why: string): string => `couldn't get version/kind; json parse error: ${why}`;

/** Go's message for a value that is not an object. */
export const notAnObject = (value: unknown): string =>
  `json: cannot unmarshal ${goTypeName(value)} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`;

/** Quotes JSON as text, anything else in hexadecimal. */
function summary(body: Buffer): string {
  if (body.length === 0) return '<empty>';
  const shown = body.subarray(0, shownBytes).toString(body[0] === 123 ? 'utf8' : 'hex');
  return body.length > shownBytes ? `${shown} ...` : shown;
}

/** What is wrong with the type of a body: it has none, another version, or another kind. */
export type TypeProblem =
  | { readonly is: 'untyped' | 'another version'; readonly why: string }
  | { readonly is: 'another kind'; readonly why: string; readonly name: string; readonly version: string };

/** Throws a 400 unless the body is of the URL's type. Built-in kinds may leave out `apiVersion` and `kind`. */
export function checkType(value: unknown, kind: Kind, body: Buffer): void {
  const problem = typeProblem(value, kind);
  if (problem === undefined) return;
  const { is, why } = problem;
  if (is === 'untyped' && !kind.custom) throw unrecognised(kind, why, body);
  if (is !== 'another kind') throw badRequest(why);
  const { name, version } = problem;
  throw badRequest(`${name} in version ${JSON.stringify(version)} cannot be handled as a ${kind.kind}: ${why}`);
}

/** What is wrong with the type of a value, if anything. */
export function typeProblem(value: unknown, kind: Kind): TypeProblem | undefined {
  const given = value ?? {};
  if (!isJsonObject(given)) {
    return untyped(noVersion(notAnObject(given)));
  }
  const { apiVersion = '', kind: name = '' } = given;
  for (const [field, found] of Object.entries({ apiVersion, kind: name })) {
    if (typeof found === 'string' || found === null) continue;
    return untyped(
      noVersion(`json: cannot unmarshal ${goTypeName(found)} into Go struct field .${field} of type string`),
    );
  }
  if (kind.custom && !name) return untyped(`Object 'Kind' is missing in '${JSON.stringify(value).slice(0, 200)}'`);
  const [version, calledKind] = [givenText(apiVersion) ?? apiVersionOf(kind), givenText(name) ?? kind.kind];
  if (version.split('/').length > 2) return untyped(`unexpected GroupVersion string: ${version}`);
  return version === apiVersionOf(kind) && calledKind === kind.kind ? undefined : mismatch(version, calledKind, kind);
}

/** The text of a field, undefined if it is empty or not a string. */
const givenText = (field: unknown): string | undefined =>
  typeof field === 'string' && field !== '' ? truncate(field) : undefined;

const untyped = (why: string): TypeProblem => ({ is: 'untyped', why });

function mismatch(apiVersion: string, name: string, kind: Kind): TypeProblem {
  const slash = apiVersion.indexOf('/');
  const [group, version] = [apiVersion.slice(0, Math.max(slash, 0)), apiVersion.slice(slash + 1)];
  const sent = kindNamed(group, version, name);
  const isSame = kind.custom ? name === kind.kind : sent !== undefined && storedAs(sent) === storedAs(kind);
  if (isSame) {
    const expected = apiVersionOf(kind);
    const why = `the API version in the data (${apiVersion}) does not match the expected API version (${expected})`;
    return { is: 'another version', why };
  }
  const isKnown = sent !== undefined || kindNamed(group, version, name.replace(/List$/, '')) !== undefined;
  const family = kind.group === '' ? 'core' : kind.group.split('.')[0];
  const why = isKnown
    ? `converting (${version}.${name}) to (${family}.${kind.kind}): unknown conversion`
    : `no kind ${JSON.stringify(name)} is registered for version ${JSON.stringify(apiVersion)}`;
  return { is: 'another kind', why, name, version };
}

const storedAs = (kind: Kind): Kind => kind.storage?.kind ?? kind;
