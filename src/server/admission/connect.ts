// CONNECT: admission of commands, forwarded ports and proxied requests.

import { apiVersionOf } from '../../api/kind.ts';
import { connectOptions } from '../../api/kinds/core/pod/connect-options.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { ServerContext } from '../context.ts';
import { unsliced } from '../limits/time-slicer.ts';
import type { ApiCall } from '../reply.ts';
import type { ResourceRequest } from '../request.ts';
import { isTrue } from '../request.ts';
import type { Resource } from '../resource.ts';
import type { AdmissionAttributes } from './attributes.ts';
import { mutateObject, mutatesNothing } from './mutation.ts';
import { outputOf, runStages, stagesOf } from './review.ts';

/** The options of a request: those of its kind that the URL has. */
type Options = Readonly<Record<string, unknown>>;

/**
 * Reviews a request for a stream or a proxy, before its Pod, Service or node is looked up. Returns the parameters of the
 * stream, which policies and webhooks can change. Throws the error for the client if one denies the request.
 */
export async function admitConnect(
  context: ServerContext,
  { kind }: Resource,
  info: ResourceRequest,
  { request, warnings }: ApiCall,
): Promise<URLSearchParams> {
  const { query, name, namespace, subresource, proxyPath } = info;
  const stages = stagesOf(context, { mutates: false });
  const shown = connectOptions[`${kind.plural}/${subresource}`];
  if (shown === undefined || (mutatesNothing(context) && stages === undefined)) return query;
  const metadata = { name, ...(kind.namespaced ? { namespace } : {}) };
  const type = { kind: shown.kind, apiVersion: apiVersionOf(shown) };
  const given: ApiObject = { ...type, metadata, ...optionsOf(query, proxyPath) };
  const attributes: AdmissionAttributes = {
    operation: 'CONNECT',
    kind,
    equivalents: () => context.resources.equivalents(kind),
    subresource,
    representation: { kind: shown, of: withoutMetadata, into: (_old, made) => ({ ...made, metadata }) },
    object: given,
    old: undefined,
    user: request.user,
    dryRun: false,
    options: undefined,
  };
  const output = outputOf({
    warnings,
    ...(request.annotate === undefined ? {} : { annotate: request.annotate }),
  });
  const changed = await mutateObject(context, attributes, { work: unsliced, output });
  const object = changed ?? given;
  if (stages !== undefined) await runStages(context, { ...attributes, object }, output, stages);
  return changed === undefined ? query : queryOf(changed, query);
}

/** The options have no metadata; the name of the object is in the request. */
function withoutMetadata(object: ApiObject): ApiObject {
  const { metadata: _, ...options } = object;
  return options as ApiObject;
}

const flags = ['stdin', 'stdout', 'stderr', 'tty'];

function optionsOf(query: URLSearchParams, proxyPath: string | undefined): Options {
  if (proxyPath !== undefined) return proxyPath === '' ? {} : { path: proxyPath };
  const set = flags.filter((name) => isTrue(query.get(name)));
  const container = query.get('container') ?? '';
  const command = query.getAll('command');
  const ports = query
    .getAll('ports')
    .flatMap((list) => list.split(','))
    .map(Number)
    .filter((port) => Number.isInteger(port) && port > 0);
  return {
    ...Object.fromEntries(set.map((name) => [name, true])),
    ...(container === '' ? {} : { container }),
    ...(command.length === 0 ? {} : { command }),
    ...(ports.length === 0 ? {} : { ports }),
  };
}

/** The parameters of the URL with the changed options. The path of a proxied request cannot be changed. */
function queryOf(options: ApiObject, query: URLSearchParams): URLSearchParams {
  const changed = new URLSearchParams(query);
  for (const name of [...flags, 'container', 'command', 'ports']) {
    changed.delete(name);
    const value: unknown = Reflect.get(options, name);
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== undefined && each !== null) changed.append(name, String(each));
    }
  }
  return changed;
}
