import { truncate } from '../../api/text.ts';
import { badRequest, conflict, failure } from '../../api/errors.ts';
import type { Kind } from '../../api/kind.ts';
import { apiVersionOf } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { decode, DecodeError } from '../../api/schema/decode.ts';
import { isJsonObject } from '../../api/schema/json-object.ts';
import type { ParsedJson } from '../../api/schema/json.ts';
import { goTypeName } from '../../api/schema/mismatch.ts';
import type { StructSchema } from '../../api/schema/schema.ts';
import { YamlError } from '../../api/schema/yaml.ts';
import { duplicateKeys } from '../../api/schema/yaml-duplicates.ts';
import { timestamp } from '../../api/timestamp.ts';
import type { ServerContext } from '../context.ts';
import { applyConfiguration } from '../patch/apply.ts';
import type { JsonObject } from '../patch/json-value.ts';
import type { Work } from '../limits/time-slicer.ts';
import type { ResourceRequest } from '../request.ts';
import type { Resource } from '../resource.ts';
import { subjectOf } from '../resource.ts';
import { maxBodyBytes, printValue } from './body.ts';
import { createObject } from './create.ts';
import { withUrlName, withoutRevision } from './update.ts';
import { updateObject } from './update-object.ts';
import type { WriteCall, Written } from './write-request.ts';
import { clientRequest, resetFieldsOf } from './write-request.ts';
import type { WriteOptions } from './write-options.ts';
import { parseWriteOptions } from './write-options.ts';

/** Server-side apply: merges the configuration of a manager with the fields of others, or creates the object. */
export async function applyPatch(
  context: ServerContext,
  resource: Resource,
  info: ResourceRequest,
  { request, warnings, representation }: WriteCall,
): Promise<Written> {
  const { kind } = representation ?? resource;
  const options = parseWriteOptions(info.query, 'ApplyOptions');
  const bytes = await request.body(maxBodyBytes);
  const sliced = context.timeSlicer.open(bytes.length);
  const config = await readConfiguration(context.bodies.decode(bytes, 'yaml', sliced), bytes, options, warnings);
  checkType(config, kind);
  const write = {
    ...clientRequest(info, { request, warnings }, options, sliced),
    representation,
    manager: undefined, // applyConfiguration tracks the managers itself
  };
  const apply = async (live: ApiObject | undefined, work: Work): Promise<ApiObject> => {
    const versions = versionsOf(context, kind);
    const applying = applyConfiguration({
      schema: kind.schema,
      live: live === undefined ? undefined : (representation?.of(live) ?? live),
      config,
      manager: options.fieldManager,
      force: options.force,
      apiVersion: apiVersionOf(kind),
      ...(versions === undefined ? {} : { versions }),
      subresource: write.subresource,
      resetFields: resetFieldsOf(kind, write.subresource),
      now: timestamp(context.clock()),
    });
    const merged = await work.runSteps(applying);
    return work.run(() => {
      const next = kind.applyDefaults(withUrlName(asObject(merged, config, kind), info));
      return live === undefined ? next : (representation?.into(live, next) ?? next);
    });
  };
  return updateObject(context, resource, write, {
    revise: apply,
    ...(write.subresource === '' || kind.createOnUpdate
      ? {
          create: async () => {
            rejectUid(config, resource, info.name);
            return createObject(context, resource, write, withoutRevision(await apply(undefined, sliced)));
          },
        }
      : {}),
  });
}

/** The schemas of all versions of a custom resource that no webhook converts, also of those that are not served. */
function versionsOf({ resources }: ServerContext, kind: Kind): ReadonlyMap<string, StructSchema> | undefined {
  if (!kind.custom || kind.webhookVersions !== undefined) return undefined;
  const versions = resources.custom.get(`${kind.plural}.${kind.group}`)?.all;
  return versions && new Map(versions.map((version) => [apiVersionOf(version), version.schema]));
}

async function readConfiguration(
  decoding: Promise<ParsedJson>,
  bytes: Buffer,
  { fieldValidation }: WriteOptions,
  warnings: string[],
): Promise<JsonObject> {
  try {
    const { value, duplicates } = await decoding;
    if (duplicates.length > 0 && fieldValidation === 'Strict') {
      const lines = duplicateKeys(bytes.toString()).map((line) => `\n  ${line}`);
      const why = lines.length > 0 ? `yaml: unmarshal errors:${lines.join('')}` : duplicates.join(', ');
      throw badRequest(`error strict decoding YAML: error converting YAML to JSON: ${why}`);
    }
    if (fieldValidation === 'Warn') for (const duplicate of duplicates) warnings.push(duplicate);
    if (value === null) return {};
    if (isJsonObject(value)) return value;
    const why = `json: cannot unmarshal ${goTypeName(value)} into Go value of type map[string]interface {}`;
    throw badRequest(`error decoding YAML: error unmarshaling JSON: while decoding JSON: ${why}`);
  } catch (error) {
    if (error instanceof YamlError)
      throw badRequest(`error decoding YAML: error converting YAML to JSON: ${error.message}`);
    throw error;
  }
}

/** Throws a 400 unless the configuration has the kind of the URL. */
function checkType(config: JsonObject, kind: Kind): void {
  const [apiVersion, name] = [config['apiVersion'], config['kind']].map((text) =>
    typeof text === 'string' ? truncate(text) : '',
  );
  if (apiVersion === apiVersionOf(kind) && name === kind.kind) return;
  const [first = '', second, ...more] = (apiVersion ?? '').split('/');
  const [group, version] = more.length > 0 ? ['', ''] : second === undefined ? ['', first] : [first, second];
  throw badRequest(`invalid object type: ${group}/${version}, Kind=${name}`);
}

/** Decodes the merged configuration, which may still be invalid, for example have a malformed time. */
function asObject(merged: JsonObject, config: JsonObject, kind: Kind): ApiObject {
  try {
    return decode<ApiObject>(kind.schema, merged).object;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const { namespace, name } = isJsonObject(config['metadata']) ? config['metadata'] : {};
    const [space, called] = [namespace, name].map((part) => (typeof part === 'string' ? truncate(part) : ''));
    const type = `${kind.group}/${kind.version}, Kind=${kind.kind}`;
    const what = `(${space}/${called}; ${type})`;
    const message = `failed to convert new object ${what} to proper version: unable to convert unstructured object to ${type}: ${error.message}`;
    throw failure({ code: 500, message });
  }
}

/** Throws a 409 if the configuration for an object that does not exist has a UID. */
function rejectUid(config: JsonObject, resource: Resource, name: string): void {
  const { uid = '' } = isJsonObject(config['metadata']) ? config['metadata'] : {};
  if (uid === '' || uid === null) return;
  throw conflict(
    subjectOf(resource, name),
    `uid mismatch: the provided object specified uid ${truncate(printValue(uid))}, and no existing object was found`,
  );
}
