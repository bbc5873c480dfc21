// Requests of all verbs with unusual parameters, bodies and media types, on objects that exist in both servers.

import type { ApiRequest } from '../../src/client/transport.ts';
import type { Question } from './compare.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const services = '/api/v1/namespaces/default/services';
const deployments = '/apis/apps/v1/namespaces/default/deployments';
const merge = 'application/merge-patch+json';
const strategic = 'application/strategic-merge-patch+json';
const jsonPatch = 'application/json-patch+json';
const apply = 'application/apply-patch+yaml';
const table = 'application/json;as=Table;g=meta.k8s.io;v=v1';
const metadata = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

type Method = ApiRequest['method'];
type Row = readonly [
  method: Method,
  path: string,
  body?: unknown,
  more?: { readonly type?: string; readonly accept?: string },
];

const map = (more: object = {}): object => ({ metadata: { name: 'existing' }, data: { a: 'b' }, ...more });

/** Reads. */
const reads: readonly Row[] = [
  ...[
    '/api',
    '/apis/apps',
    '/apis/batch',
    '/apis/nothing',
    '/apis/apps/v2',
    '/api/v2',
    '/nothing',
    '/healthz',
    '/livez/ping',
  ].map((path): Row => ['GET', path]),
  ...[
    'limit=x',
    'limit=-1',
    'continue=x',
    'resourceVersion=x',
    'resourceVersion=99999999999',
    'resourceVersionMatch=Exact',
    'resourceVersionMatch=Exact&resourceVersion=0',
    'resourceVersionMatch=NotOlderThan',
    'resourceVersionMatch=Other&resourceVersion=1',
    'labelSelector=a%3Db%3Dc',
    'labelSelector=a%20in%20b',
    'labelSelector=!',
    'labelSelector=a%20b',
    'labelSelector=-a',
    'labelSelector=a%3D-b',
    'labelSelector=none%3Dnone',
    'fieldSelector=metadata.name%3Dexisting',
    'fieldSelector=metadata.name%3D%3Dnone',
    'fieldSelector=data.a%3Db',
    'fieldSelector=metadata.name',
    'fieldSelector=metadata.name%3Da%2Cmetadata.name%3Db',
    'watch=1&resourceVersion=x',
    'watch=1&resourceVersionMatch=Exact&resourceVersion=1',
    'sendInitialEvents=true',
    'watch=1&sendInitialEvents=true',
    'watch=1&sendInitialEvents=true&resourceVersionMatch=Exact',
    'timeoutSeconds=x',
    'timeout=x',
    'unknown=1',
    'pretty=x',
  ].map((query): Row => ['GET', `${maps}?${query}`]),
  ['GET', `${maps}/existing`],
  ['GET', `${maps}/none`],
  ['GET', `${maps}/Not%20Valid`],
  ['GET', `${maps}/existing/status`],
  ['GET', `${maps}/existing?resourceVersion=x`],
  ['GET', '/api/v1/namespaces/none/configmaps'],
  ['GET', '/api/v1/configmaps/existing'],
  ['GET', `${services}/existing/status`],
  ['GET', `${services}/existing/scale`],
  ['GET', `${deployments}/existing/scale`],
  ['GET', `${deployments}/existing/nothing`],
  ['GET', '/api/v1/namespaces/none'],
  ['GET', '/api/v1/namespaces/none/status'],
  ['GET', '/api/v1/nodes/none'],
  ...[
    table,
    metadata,
    'text/plain',
    'application/json;as=Nothing;g=meta.k8s.io;v=v1',
    'application/xml,application/json;q=0.5',
  ].flatMap((accept): readonly Row[] => [
    ['GET', `${maps}/existing`, undefined, { accept }],
    ['GET', maps, undefined, { accept }],
    ['GET', `${deployments}/existing`, undefined, { accept }],
  ]),
];

/** Writes, all as dry runs. */
const writes: readonly Row[] = [
  ['POST', maps, '{'],
  ['POST', maps, '[]'],
  ['POST', maps, 'null'],
  ['POST', maps, '""'],
  ['POST', maps, ''],
  ['POST', maps, map()],
  ['POST', maps, map({ kind: 'Secret', apiVersion: 'v1' })],
  ['POST', maps, map({ kind: 'ConfigMap', apiVersion: 'v2' })],
  ['POST', maps, map({ kind: 'ConfigMap' })],
  ['POST', maps, { ...map(), metadata: {} }],
  ['POST', maps, { ...map(), metadata: { name: 'a', namespace: 'other' } }],
  ['POST', maps, { ...map(), metadata: { generateName: 'Not Valid' } }],
  ['POST', maps, { ...map(), metadata: { name: 'new', resourceVersion: '5' } }],
  ['POST', maps, { ...map(), metadata: { name: 'new', uid: 'x' } }],
  ['POST', maps, { ...map(), metadata: { name: 'new' }, unknown: 1 }],
  ['POST', maps, { ...map(), metadata: { name: 'new' } }, { type: 'text/plain' }],
  ['POST', '/api/v1/namespaces/none/configmaps', map()],
  ['POST', '/api/v1/configmaps', map()],
  ['POST', `${maps}/existing`, map()],
  ['PUT', maps, map()],
  ['PUT', `${maps}/existing`, map({ data: { c: 'd' } })],
  ['PUT', `${maps}/other`, map()],
  ['PUT', `${maps}/none`, { ...map(), metadata: { name: 'none' } }],
  ['PUT', `${maps}/existing`, { ...map(), metadata: { name: 'existing', resourceVersion: '1' } }],
  ['PUT', `${maps}/existing`, { ...map(), metadata: { name: 'existing', resourceVersion: 'x' } }],
  ['PUT', `${maps}/existing`, { ...map(), metadata: { name: 'existing', uid: 'x' } }],
  ['PUT', `${maps}/existing`, { ...map(), metadata: { name: 'existing', namespace: 'other' } }],
  ['PUT', `${services}/existing`, { metadata: { name: 'existing' }, spec: { ports: [{ port: 80 }] } }],
  ['PUT', `${deployments}/existing/scale`, { spec: { replicas: -1 } }],
  [
    'PUT',
    `${deployments}/existing/scale`,
    { kind: 'Scale', apiVersion: 'autoscaling/v1', metadata: { name: 'existing' }, spec: { replicas: -1 } },
  ],
  [
    'PUT',
    `${deployments}/existing/scale`,
    { kind: 'Scale', apiVersion: 'autoscaling/v1', metadata: { name: 'existing' }, spec: { replicas: 2 } },
  ],
  ...[merge, strategic].flatMap((type): readonly Row[] => [
    ['PATCH', `${maps}/existing`, {}, { type }],
    ['PATCH', `${maps}/existing`, { data: { a: null, e: 'f' } }, { type }],
    ['PATCH', `${maps}/existing`, { data: 'x' }, { type }],
    ['PATCH', `${maps}/existing`, { data: { a: 1 } }, { type }],
    ['PATCH', `${maps}/existing`, '[]', { type }],
    ['PATCH', `${maps}/existing`, 'null', { type }],
    ['PATCH', `${maps}/existing`, '{', { type }],
    ['PATCH', `${maps}/existing`, { metadata: { name: 'x' } }, { type }],
    ['PATCH', `${maps}/existing`, { metadata: { resourceVersion: '1' } }, { type }],
    ['PATCH', `${maps}/existing`, { unknown: 1 }, { type }],
    ['PATCH', `${maps}/none`, {}, { type }],
    ['PATCH', `${services}/existing`, { spec: { ports: [{ port: 81 }] } }, { type }],
    ['PATCH', `${services}/existing`, { spec: { clusterIP: '10.0.0.200' } }, { type }],
    ['PATCH', `${deployments}/existing`, { spec: { replicas: 'x' } }, { type }],
    ['PATCH', `${deployments}/existing`, { spec: { selector: { matchLabels: { a: 'c' } } } }, { type }],
    ['PATCH', `${deployments}/existing/scale`, { spec: { replicas: 3 } }, { type }],
  ]),
  ['PATCH', `${services}/existing`, { spec: { ports: [{ $patch: 'delete', port: 80 }] } }, { type: strategic }],
  ['PATCH', `${services}/existing`, { spec: { ports: [{ $patch: 'other', port: 80 }] } }, { type: strategic }],
  ['PATCH', `${services}/existing`, { spec: { ports: [{ name: 'no key' }] } }, { type: strategic }],
  ['PATCH', `${services}/existing`, { spec: { '$setElementOrder/ports': [{ port: 99 }] } }, { type: strategic }],
  ['PATCH', `${maps}/existing`, [{ op: 'replace', path: '/data/a', value: 'x' }], { type: jsonPatch }],
  ['PATCH', `${maps}/existing`, [{ op: 'replace', path: '/data/none', value: 'x' }], { type: jsonPatch }],
  ['PATCH', `${maps}/existing`, [{ op: 'remove', path: '/data/none' }], { type: jsonPatch }],
  ['PATCH', `${maps}/existing`, [{ op: 'test', path: '/data/a', value: 'x' }], { type: jsonPatch }],
  ['PATCH', `${maps}/existing`, [{ op: 'other', path: '/data/a' }], { type: jsonPatch }],
  ['PATCH', `${maps}/existing`, [{ op: 'add', path: 'data', value: 'x' }], { type: jsonPatch }],
  ['PATCH', `${maps}/existing`, [{ op: 'add', value: 'x' }], { type: jsonPatch }],
  ['PATCH', `${maps}/existing`, {}, { type: jsonPatch }],
  ['PATCH', `${maps}/existing`, {}, { type: 'application/json' }],
  ['PATCH', `${maps}/existing`, map({ kind: 'ConfigMap', apiVersion: 'v1' }), { type: apply }],
  [
    'PATCH',
    `${maps}/existing?fieldManager=m`,
    map({ kind: 'ConfigMap', apiVersion: 'v1', data: { a: 'x' } }),
    { type: apply },
  ],
  [
    'PATCH',
    `${maps}/existing?fieldManager=m&force=true`,
    map({ kind: 'ConfigMap', apiVersion: 'v1', data: { a: 'x' } }),
    { type: apply },
  ],
  ['PATCH', `${maps}/existing?fieldManager=m`, map({ data: { a: 'x' } }), { type: apply }],
  [
    'PATCH',
    `${maps}/existing?fieldManager=m`,
    map({ kind: 'ConfigMap', apiVersion: 'v1', unknown: 1 }),
    { type: apply },
  ],
  ['PATCH', `${maps}/existing?fieldManager=m`, '{', { type: apply }],
  ['PATCH', `${maps}/existing?force=true&fieldManager=m`, {}, { type: merge }],
  ['PATCH', `${maps}/existing?fieldManager=${'m'.repeat(200)}`, {}, { type: merge }],
  ['POST', `${maps}?fieldManager=%01`, map()],
  ['POST', `${maps}?fieldValidation=Other`, map()],
  ['DELETE', `${maps}/existing`],
  ['DELETE', `${maps}/none`],
  ['DELETE', `${maps}/existing`, { preconditions: { uid: 'x' } }],
  ['DELETE', `${maps}/existing`, { preconditions: { resourceVersion: '1' } }],
  ['DELETE', `${maps}/existing`, { propagationPolicy: 'Other' }],
  ['DELETE', `${maps}/existing`, { propagationPolicy: 'Orphan', orphanDependents: true }],
  ['DELETE', `${maps}/existing`, { gracePeriodSeconds: -1 }],
  ['DELETE', `${maps}/existing`, { dryRun: ['Other'] }],
  ['DELETE', `${maps}/existing`, '{'],
  ['DELETE', `${maps}?labelSelector=!`],
  ['DELETE', '/api/v1/namespaces/default'],
  ['DELETE', '/api/v1/namespaces/none'],
];

/** Objects that the requests refer to. */
export const existing: readonly (readonly [collection: string, object: object])[] = [
  [maps, map()],
  [services, { metadata: { name: 'existing' }, spec: { ports: [{ port: 80 }] } }],
  [
    deployments,
    {
      metadata: { name: 'existing' },
      spec: {
        selector: { matchLabels: { a: 'b' } },
        template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i:1' }] } },
      },
    },
  ],
];

/** All requests; writes change nothing. */
export function* requests(): Generator<Question> {
  for (const row of reads) yield question(row, {});
  for (const row of writes) yield question(row, { dryRun: 'All' });
}

function question([method, url, body, more = {}]: Row, added: Readonly<Record<string, string>>): Question {
  const [path = '', given = ''] = url.split('?');
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const media = Object.values(more).join(' ');
  return {
    name: `${method} ${url} ${media} ${text ?? ''}`.slice(0, 220).trim(),
    request: {
      method,
      path,
      query: { ...Object.fromEntries(new URLSearchParams(given)), ...added },
      ...(text === undefined ? {} : { body: text }),
      ...more,
    },
  };
}
