import { truncate } from '../../api/text.ts';
import { badRequest, conflict, failure } from '../../api/errors.ts';
import type { Kind } from '../../api/kind.ts';
import { apiVersionOf } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { decode, DecodeError } from '../../api/schema/decode.ts';
import { goWord } from '../../api/schema/mismatch.ts';
import { YamlError } from '../../api/schema/yaml.ts';
import { timestamp } from '../../api/timestamp.ts';
import type { ServerContext } from '../context.ts';
import { applyConfiguration } from '../patch/apply.ts';
import { isObject } from '../patch/json-value.ts';
import type { JsonObject } from '../patch/json-value.ts';
import type { Work } from '../limits/time-slicer.ts';
import type { ApiRequest } from '../reply.ts';
import type { ResourceRequest } from '../request.ts';
import type { Resource } from '../resource.ts';
import { subjectOf } from '../resource.ts';
import { maxBodyBytes, text } from './body.ts';
import { decodeBody } from './decode-body.ts';
import { createObject } from './create-object.ts';
import { resetFieldsOf } from './reset-fields.ts';
import { named, withoutRevision } from './update.ts';
import { updateObject } from './update-object.ts';
import type { Written } from './write-request.ts';
import { clientRequest } from './write-request.ts';
import type { WriteOptions } from './write-options.ts';
import { parseWriteOptions } from './write-options.ts';

/** Server-side apply: what the manager wants, merged with what others own; creates what is not there. */
export async function applyPatch(
  context: ServerContext,
  resource: Resource,
  info: ResourceRequest,
  { request, warnings }: { readonly request: ApiRequest; readonly warnings: string[] },
): Promise<Written> {
  const { kind } = resource;
  const options = parseWriteOptions(info.query, 'ApplyOptions');
  const bytes = await request.body(maxBodyBytes);
  const sliced = context.timeSlicer.open(bytes.length);
  const config = await readConfiguration(bytes, sliced, options, warnings);
  checkType(config, kind);
  const write = {
    ...clientRequest(info, { request, warnings }, options, sliced),
    manager: undefined, // apply keeps the managers itself
  };
  const apply = async (live: ApiObject | undefined, work: Work): Promise<ApiObject> => {
    const applying = applyConfiguration({
      schema: kind.schema,
      live,
      config,
      manager: options.fieldManager,
      force: options.force,
      apiVersion: apiVersionOf(kind),
      subresource: write.subresource,
      resetFields: resetFieldsOf(kind, write.subresource),
      now: timestamp(context.clock()),
    });
    const merged = await work.runSteps(applying);
    return work.run(() => kind.applyDefaults(named(asObject(merged, config, kind), info)));
  };
  return updateObject(context, resource, write, {
    revise: apply,
    ...(write.subresource === '' || kind.createOnUpdate
      ? {
          create: async () => {
            refuseUid(config, resource, info.name);
            return createObject(context, resource, write, withoutRevision(await apply(undefined, sliced)));
          },
        }
      : {}),
  });
}

async function readConfiguration(
  bytes: Buffer,
  work: Work,
  { fieldValidation }: WriteOptions,
  warnings: string[],
): Promise<JsonObject> {
  try {
    const { value, duplicates } = await decodeBody(bytes, 'yaml', work);
    if (duplicates.length > 0 && fieldValidation === 'Strict') {
      throw badRequest(`error strict decoding YAML: ${duplicates.join(', ')}`);
    }
    if (fieldValidation === 'Warn') for (const duplicate of duplicates) warnings.push(duplicate);
    if (value === null) return {};
    if (isObject(value)) return value;
    const why = `json: cannot unmarshal ${goWord(value)} into Go value of type map[string]interface {}`;
    throw badRequest(`error decoding YAML: error unmarshaling JSON: while decoding JSON: ${why}`);
  } catch (error) {
    if (error instanceof YamlError)
      throw badRequest(`error decoding YAML: error converting YAML to JSON: ${error.message}`);
    throw error;
  }
}

/** A configuration says of what kind it is, and that is the kind of the URL. */
function checkType(config: JsonObject, kind: Kind): void {
  const [apiVersion, name] = [config['apiVersion'], config['kind']].map((text) =>
    typeof text === 'string' ? truncate(text) : '',
  );
  if (apiVersion === apiVersionOf(kind) && name === kind.kind) return;
  const [first = '', second, ...more] = (apiVersion ?? '').split('/');
  const [group, version] = more.length > 0 ? ['', ''] : second === undefined ? ['', first] : [first, second];
  throw badRequest(`invalid object type: ${group}/${version}, Kind=${name}`);
}

/** What merging gave, as an object. What no rule of merging refuses may still not be one, such as a wrong time. */
function asObject(merged: JsonObject, config: JsonObject, kind: Kind): ApiObject {
  try {
    return decode<ApiObject>(kind.schema, merged).object;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const { namespace, name } = isObject(config['metadata']) ? config['metadata'] : {};
    const [space, called] = [namespace, name].map((part) => (typeof part === 'string' ? truncate(part) : ''));
    const type = `${kind.group}/${kind.version}, Kind=${kind.kind}`;
    const what = `(${space}/${called}; ${type})`;
    const message = `failed to convert new object ${what} to proper version: unable to convert unstructured object to ${type}: ${error.message}`;
    throw failure({ code: 500, message });
  }
}

/** An object that is not there does not have the UID that the configuration names. */
function refuseUid(config: JsonObject, resource: Resource, name: string): void {
  const { uid = '' } = isObject(config['metadata']) ? config['metadata'] : {};
  if (uid === '' || uid === null) return;
  throw conflict(
    subjectOf(resource, name),
    `uid mismatch: the provided object specified uid ${truncate(text(uid))}, and no existing object was found`,
  );
}
