// The operations of a kind, independent of the OpenAPI version; paths.ts renders them in both.

import type { GroupVersionKind, Kind, Subresource } from '../../api/kind.ts';
import { groupVersionKind } from '../../api/kind.ts';
import type { StructSchema } from '../../api/schema/schema.ts';
import { subresourcesOf } from '../discovery/subresources.ts';
import { metaV1 } from './meta-schemas.ts';
import type { Parameter } from './parameters.ts';
import {
  deleteParameters,
  listParameters,
  nameParameter,
  namespaceParameter,
  patchParameters,
  prettyParameter,
  writeParameters,
} from './parameters.ts';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** One method of one path. */
export interface Operation {
  readonly method: Method;
  readonly id: string;
  readonly description: string;
  /** Kubernetes' name of the action: list, post, deletecollection … */
  readonly action: string;
  readonly gvk: GroupVersionKind;
  readonly parameters: readonly Parameter[];
  /** The schema name of the body and its content types. */
  readonly body?: { readonly schema: string; readonly contentTypes: readonly string[]; readonly required: boolean };
  /** The schema name of the response. */
  readonly responseSchema: string;
  readonly codes: readonly number[];
}

/** A path with the parameters that all its methods share. */
export interface PathOperations {
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly operations: readonly Operation[];
}

const objectTypes = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'];
const patchTypes = ['application/json-patch+json', 'application/merge-patch+json'];
const applyTypes = ['application/apply-patch+yaml'];

/** Custom kinds have no strategic merge patch; kubectl chooses the patch type by this list. */
const patchTypesOf = (kind: Kind): readonly string[] =>
  kind.custom
    ? [...patchTypes, ...applyTypes]
    : [...patchTypes, 'application/strategic-merge-patch+json', ...applyTypes];

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** `CoreV1`, `RbacAuthorizationV1`: the part of operation IDs that names group and version; custom groups in full. */
function groupVersionWord({ group, version, custom }: Kind): string {
  const words = (group === '' ? 'core' : custom ? group : group.replace(/\.k8s\.io$/, '')).split(/[.-]/);
  return words.map(capital).join('') + capital(version);
}

/** All paths of a kind. */
export function pathsOf(kind: Kind): readonly PathOperations[] {
  const { group, version, plural } = kind;
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const collection = kind.namespaced ? `${root}/namespaces/{namespace}/${plural}` : `${root}/${plural}`;
  const shared = kind.namespaced ? [namespaceParameter, prettyParameter] : [prettyParameter];
  const gvk = groupVersionKind(kind);
  const canListAll = kind.namespaced && kind.verbs.includes('list');
  const paths: PathOperations[] = [
    { path: collection, parameters: shared, operations: collectionOperations(kind, gvk) },
    { path: `${collection}/{name}`, parameters: [nameParameter, ...shared], operations: itemOperations(kind, gvk) },
    ...documentedSubresources(kind).map((subresource) => ({
      path: `${collection}/{name}/${subresource.name}`,
      parameters: [nameParameter, ...shared],
      operations: subresourceOperations(kind, subresource),
    })),
    ...(canListAll
      ? [{ path: `${root}/${plural}`, parameters: [prettyParameter], operations: [listAll(kind, gvk)] }]
      : []),
  ];
  return paths.filter(({ operations }) => operations.length > 0);
}

/** Those whose bodies have a schema. */
const documentedSubresources = (kind: Kind): readonly Subresource[] =>
  subresourcesOf(kind).filter(({ connect }) => connect === undefined);

const idOf = (kind: Kind, verb: string, suffix = ''): string =>
  `${verb}${groupVersionWord(kind)}${kind.namespaced ? 'Namespaced' : ''}${kind.kind}${suffix}`;

const listNameOf = (kind: Kind): string => `${kind.schema.name}List`;

const listAll = (kind: Kind, gvk: GroupVersionKind): Operation => ({
  method: 'get',
  id: `list${groupVersionWord(kind)}${kind.kind}ForAllNamespaces`,
  description: `list or watch objects of kind ${kind.kind}`,
  action: 'list',
  gvk,
  parameters: listParameters,
  responseSchema: listNameOf(kind),
  codes: [200],
});

function collectionOperations(kind: Kind, gvk: GroupVersionKind): readonly Operation[] {
  return [
    ...(kind.verbs.includes('list') ? [{ ...listAll(kind, gvk), id: idOf(kind, 'list') }] : []),
    ...(kind.verbs.includes('create') ? [create(kind, gvk)] : []),
    ...(kind.verbs.includes('deletecollection') ? [deleteCollection(kind, gvk)] : []),
  ];
}

const create = (kind: Kind, gvk: GroupVersionKind): Operation => ({
  method: 'post',
  id: idOf(kind, 'create'),
  description: `create a ${kind.kind}`,
  action: 'post',
  gvk,
  parameters: writeParameters,
  body: { schema: kind.schema.name, contentTypes: objectTypes, required: true },
  responseSchema: kind.schema.name,
  codes: [200, 201, 202],
});

const createBelow = (kind: Kind, gvk: GroupVersionKind, { suffix, schema }: Place): Operation => ({
  ...create(kind, gvk),
  id: idOf(kind, 'create', suffix),
  description: `create ${suffix.toLowerCase()} of a ${kind.kind}`,
  body: { schema: schema.name, contentTypes: objectTypes, required: true },
  responseSchema: schema.name,
});

const deleteCollection = (kind: Kind, gvk: GroupVersionKind): Operation => ({
  method: 'delete',
  id: `delete${groupVersionWord(kind)}Collection${kind.namespaced ? 'Namespaced' : ''}${kind.kind}`,
  description: `delete collection of ${kind.kind}`,
  action: 'deletecollection',
  gvk,
  parameters: [...deleteParameters, ...listParameters.filter(({ name }) => !name.toLowerCase().includes('watch'))],
  body: { schema: `${metaV1}.DeleteOptions`, contentTypes: objectTypes, required: false },
  responseSchema: `${metaV1}.Status`,
  codes: [200],
});

function itemOperations(kind: Kind, gvk: GroupVersionKind): readonly Operation[] {
  const remove: Operation = {
    method: 'delete',
    id: idOf(kind, 'delete'),
    description: `delete a ${kind.kind}`,
    action: 'delete',
    gvk,
    parameters: deleteParameters,
    body: { schema: `${metaV1}.DeleteOptions`, contentTypes: objectTypes, required: false },
    responseSchema: kind.deleteReturns === 'object' ? kind.schema.name : `${metaV1}.Status`,
    codes: [200, 202],
  };
  const whole = { suffix: '', schema: kind.schema };
  return [
    ...(kind.verbs.includes('get') ? [read(kind, gvk, whole)] : []),
    ...(kind.verbs.includes('update') ? [replace(kind, gvk, whole)] : []),
    ...(kind.verbs.includes('patch') ? [patch(kind, gvk, whole)] : []),
    ...(kind.verbs.includes('delete') ? [remove] : []),
  ];
}

function subresourceOperations(kind: Kind, { name, verbs, body = kind }: Subresource): readonly Operation[] {
  const gvk = groupVersionKind(body);
  const below = { suffix: capital(name), schema: body.schema };
  return [
    ...(verbs.includes('create') ? [createBelow(kind, gvk, below)] : []),
    ...(verbs.includes('get') ? [read(kind, gvk, below)] : []),
    ...(verbs.includes('update') ? [replace(kind, gvk, below)] : []),
    ...(verbs.includes('patch') ? [patch(kind, gvk, below)] : []),
  ];
}

/** What an operation reads or writes: the object, or a subresource with the schema of its bodies. */
interface Place {
  readonly suffix: string;
  readonly schema: StructSchema;
}

const describe = ({ suffix }: Pick<Place, 'suffix'>): string => (suffix === '' ? '' : `${suffix.toLowerCase()} of `);

const read = (kind: Kind, gvk: GroupVersionKind, { suffix, schema }: Place): Operation => ({
  method: 'get',
  id: idOf(kind, 'read', suffix),
  description: `read ${describe({ suffix })}the specified ${kind.kind}`,
  action: 'get',
  gvk,
  parameters: [],
  responseSchema: schema.name,
  codes: [200],
});

const replace = (kind: Kind, gvk: GroupVersionKind, place: Place): Operation => ({
  ...read(kind, gvk, place),
  method: 'put',
  id: idOf(kind, 'replace', place.suffix),
  description: `replace ${describe(place)}the specified ${kind.kind}`,
  action: 'put',
  parameters: writeParameters,
  body: { schema: place.schema.name, contentTypes: objectTypes, required: true },
  codes: [200, 201],
});

const patch = (kind: Kind, gvk: GroupVersionKind, place: Place): Operation => ({
  ...replace(kind, gvk, place),
  method: 'patch',
  id: idOf(kind, 'patch', place.suffix),
  description: `partially update ${describe(place)}the specified ${kind.kind}`,
  action: 'patch',
  parameters: patchParameters,
  body: { schema: `${metaV1}.Patch`, contentTypes: patchTypesOf(kind), required: true },
});
