import { badRequest, conflict, failure } from '../../api/errors.ts';
import type { Kind } from '../../api/kind.ts';
import { apiVersionOf } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { decode, DecodeError } from '../../api/schema/decode.ts';
import { parseYaml, YamlError } from '../../api/schema/yaml.ts';
import type { ServerContext } from '../context.ts';
import { applyConfiguration } from '../patch/apply.ts';
import { isObject } from '../patch/json-value.ts';
import type { JsonObject } from '../patch/json-value.ts';
import type { ApiRequest } from '../reply.ts';
import type { ResourceRequest } from '../request.ts';
import type { Resource } from '../resource.ts';
import { subjectOf } from '../resource.ts';
import { maxBodyBytes, text } from './body.ts';
import { createObject } from './create-object.ts';
import { resetFieldsOf } from './reset-fields.ts';
import { subresourceOf } from './update.ts';
import { updateObject } from './update-object.ts';
import type { WriteRequest, Written } from './write-request.ts';
import { timestamp } from './write-request.ts';
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
  const config = readConfiguration(await request.body(maxBodyBytes), options, warnings);
  checkConfiguration(config, kind, info);
  const write: WriteRequest = {
    user: request.user,
    namespace: info.namespace,
    name: info.name,
    subresource: subresourceOf(info),
    dryRun: options.dryRun,
    manager: undefined, // apply keeps the managers itself
    warnings,
  };
  const apply = (live: ApiObject | undefined): ApiObject => {
    const merged = applyConfiguration({
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
    return kind.applyDefaults(decode<ApiObject>(kind.schema, merged).object);
  };
  return updateObject(context, resource, write, {
    revise: apply,
    ...(write.subresource === ''
      ? {
          create: () => {
            refuseIdentity(config, resource, info.name);
            return createObject(context, resource, write, apply(undefined));
          },
        }
      : {}),
  });
}

function readConfiguration(bytes: Buffer, { fieldValidation }: WriteOptions, warnings: string[]): JsonObject {
  try {
    const { value, duplicates } = parseYaml(bytes.toString());
    if (duplicates.length > 0 && fieldValidation === 'Strict') {
      throw badRequest(`error strict decoding YAML: ${duplicates.join(', ')}`);
    }
    if (fieldValidation === 'Warn') warnings.push(...duplicates);
    if (!isObject(value)) throw badRequest('error decoding YAML: an apply configuration must be an object');
    return value;
  } catch (error) {
    if (error instanceof YamlError) throw badRequest(`error decoding YAML: ${error.message}`);
    throw error;
  }
}

function checkConfiguration(config: JsonObject, kind: Kind, info: ResourceRequest): void {
  const expected = apiVersionOf(kind);
  if (config['kind'] !== kind.kind) {
    throw badRequest(
      `invalid object type: ${text(config['apiVersion'])}, Kind=${text(config['kind'])}, expected ${expected}, Kind=${kind.kind}`,
    );
  }
  if (config['apiVersion'] !== expected) {
    throw badRequest(
      `Incorrect version specified in apply patch. Specified patch version: ${text(config['apiVersion'])}, expected: ${expected}`,
    );
  }
  const metadata = isObject(config['metadata']) ? config['metadata'] : {};
  if ('managedFields' in metadata && metadata['managedFields'] !== null)
    throw badRequest('metadata.managedFields must be nil');
  const { name = info.name, namespace = info.namespace } = metadata;
  if (name !== info.name) {
    throw badRequest(`the name of the object (${text(name)}) does not match the name on the URL (${info.name})`);
  }
  if (kind.namespaced && namespace !== info.namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  checkDeclared(config, kind, info);
}

/** Unlike other writes, apply refuses what the schema does not declare, whatever the client asked for. */
function checkDeclared(config: JsonObject, kind: Kind, info: ResourceRequest): void {
  const where = `(${kind.namespaced ? `${info.namespace}/` : '/'}${info.name}; ${kind.group}/${kind.version}, Kind=${kind.kind})`;
  const typed = (why: string): Error =>
    failure({ code: 500, message: `failed to create typed patch object ${where}: ${why}` });
  try {
    const { unknown } = decode(kind.schema, config);
    if (unknown.length > 0) {
      throw typed(
        unknown
          .map((text) => `${text.replace(/^unknown field "(.*)"$/, '.$1')}: field not declared in schema`)
          .join('\n'),
      );
    }
  } catch (error) {
    if (error instanceof DecodeError) throw typed(error.message);
    throw error;
  }
}

/** An object that is not there has neither the UID nor the revision that the configuration names. */
function refuseIdentity(config: JsonObject, resource: Resource, name: string): void {
  const metadata = isObject(config['metadata']) ? config['metadata'] : {};
  for (const field of ['uid', 'resourceVersion'] as const) {
    const value = metadata[field];
    if (value === undefined || value === null || value === '') continue;
    throw conflict(
      subjectOf(resource, name),
      `${field} mismatch: the provided object specified ${field} ${text(value)}, and no existing object was found`,
    );
  }
}
