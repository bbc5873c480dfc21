// Bodies of at most 3 MiB with many elements of one kind. Each is one request unless a group of clients sends it.

import { protobufBody } from './protobuf.ts';
import type { HostileCase, Place } from '../case.ts';
import { crowd, request } from '../case.ts';
import type { HostileRequest } from '../client.ts';
import { collections } from '../stage.ts';

type Collection = keyof typeof collections;

const name = 'hostile';
const types = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
  yaml: 'application/yaml',
  protobuf: 'application/vnd.kubernetes.protobuf',
} as const;

const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
/** Members of a JSON object as text, so that keys can repeat. */
const members = (count: number, make: (index: number) => string): string => many(count, make).join(',');
const fieldsOf = (count: number, value: unknown): Record<string, unknown> =>
  Object.fromEntries(many(count, (index) => [`key-${index}`, value]));

const post =
  (collection: Collection, body: () => string | Buffer | object, type?: string, query = '') =>
  ({ namespace }: Place): HostileRequest => ({
    method: 'POST',
    path: `${collections[collection](namespace)}${query}`,
    body: textOf(body()),
    ...(type === undefined ? {} : { type }),
  });

const at =
  (groupVersion: string, plural: string, body: (place: Place) => object) =>
  (place: Place): HostileRequest => ({
    method: 'POST',
    path: `/apis/${groupVersion}/namespaces/${place.namespace}/${plural}`,
    body: JSON.stringify(body(place)),
  });

const patch =
  (type: Exclude<keyof typeof types, 'yaml' | 'protobuf'>, collection: Collection, body: () => string | object) =>
  ({ namespace }: Place): HostileRequest => ({
    method: 'PATCH',
    path: `${collections[collection](namespace)}/${name}${type === 'apply' ? '?fieldManager=hostile&force=true' : ''}`,
    body: textOf(body()),
    type: types[type],
  });

const textOf = (body: string | Buffer | object): string | Buffer =>
  typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);

/** The object exists before, with this content. */
const stored =
  (collection: Collection, content: () => object = () => ({})) =>
  (place: Place): HostileRequest[] => [post(collection, () => ({ metadata: { name }, ...content() }))(place)];

const configMap = { kind: 'ConfigMap', apiVersion: 'v1' };
const secrets = (count: number): object => ({ secrets: many(count, (index) => ({ name: `s${index}` })) });
const ports = (count: number): object[] =>
  many(count, (index) => ({ name: `p${index}`, port: (index % 65_000) + 1, protocol: index % 2 ? 'TCP' : 'UDP' }));
const owners = (count: number): object[] =>
  many(count, (index) => ({ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: `uid-${index}` }));
const nested = (depth: number): string => '{"a":'.repeat(depth) + '0' + '}'.repeat(depth);

const decoding: readonly HostileCase[] = [
  request(
    '4,000 JSON keys, each twice',
    post('configmaps', () => {
      const keys = members(4000, (index) => `"key-${index}":""`);
      return `{"metadata":{"name":"${name}"},"data":{${keys},${keys}}}`;
    }),
  ),
  request(
    '70,000 JSON keys, each twice',
    post('configmaps', () => {
      const keys = members(70_000, (index) => `"key-${index}":""`);
      return `{"metadata":{"name":"${name}"},"data":{${keys},${keys}}}`;
    }),
  ),
  request(
    '300,000 equal JSON keys',
    post('configmaps', () => `{"metadata":{"name":"${name}"},"data":{${members(300_000, () => '"a":""')}}}`),
  ),
  request(
    '100,000 unknown fields',
    post('configmaps', () => ({ metadata: { name }, ...fieldsOf(100_000, 0) })),
  ),
  request(
    '1,500,000 zeros in a list',
    post('configmaps', () => `{"metadata":{"name":"${name}"},"data":[${members(1_500_000, () => '0')}]}`),
  ),
  request(
    '500,000 levels of JSON',
    post('configmaps', () => nested(500_000)),
  ),
  request(
    '60,000 YAML keys, each twice',
    post(
      'configmaps',
      () => {
        const keys = many(60_000, (index) => `  k${index}: ""`).join('\n');
        return `metadata:\n  name: ${name}\ndata:\n${keys}\n${keys}\n`;
      },
      types.yaml,
    ),
  ),
  request(
    '250,000 YAML anchors',
    post('configmaps', () => `a:\n${many(250_000, (index) => `- &a${index} 0`).join('\n')}\n`, types.yaml),
  ),
  request(
    'a YAML flow list of 1,000,000 items',
    post('configmaps', () => `a: [${members(1_000_000, () => '0')}]`, types.yaml),
  ),
  ...['1'.repeat(60_000), '0'.repeat(2_900_000), `1e${'9'.repeat(60_000)}`].map((quantity, index) =>
    request(
      ['a quantity of 60,000 digits', 'a quantity of 2,900,000 zeros', 'a quantity with a long exponent'][index] ?? '',
      post('pods', () => ({
        metadata: { name },
        spec: { containers: [{ name: 'a', image: 'a', resources: { limits: { cpu: quantity } } }] },
      })),
    ),
  ),
  request(
    'protobuf, FieldsV1 of 500,000 levels',
    post('configmaps', () => protobufBody.configMap(name, nested(500_000)), types.protobuf),
  ),
  request(
    'protobuf, FieldsV1 of 60,000 fields, each twice',
    post(
      'configmaps',
      () => {
        const fields = members(60_000, (index) => `"f:k${index}":{}`);
        return protobufBody.configMap(name, `{${fields},${fields}}`);
      },
      types.protobuf,
    ),
  ),
];

const writing: readonly HostileCase[] = [
  request(
    '20,000 ownerReferences',
    post('configmaps', () => ({ metadata: { name, ownerReferences: owners(20_000) } })),
  ),
  request(
    '19,000 ownerReferences',
    post('configmaps', () => ({ metadata: { name, ownerReferences: owners(19_000) } })),
  ),
  request(
    '19,000 equal ownerReferences',
    post('configmaps', () => ({
      metadata: { name, ownerReferences: many(19_000, () => ({ apiVersion: 'v1', kind: 'A', name: 'x', uid: 'u' })) },
    })),
  ),
  request(
    '60,000 labels',
    post('configmaps', () => ({ metadata: { name, labels: fieldsOf(60_000, 'x') } })),
  ),
  request(
    '60,000 wrong labels',
    post('configmaps', () => ({ metadata: { name, labels: fieldsOf(60_000, '-') } })),
  ),
  request(
    '60,000 annotations',
    post('configmaps', () => ({ metadata: { name, annotations: fieldsOf(60_000, '') } })),
  ),
  request(
    '60,000 keys in data',
    post('configmaps', () => ({ metadata: { name }, data: fieldsOf(60_000, '') })),
  ),
  request(
    '60,000 finalizers',
    post('configmaps', () => ({ metadata: { name, finalizers: many(60_000, (index) => `example.org/f${index}`) } })),
  ),
  request(
    '12,000 Service ports',
    post('services', () => ({ metadata: { name }, spec: { ports: ports(12_000) } })),
  ),
  request(
    '12,000 ports of a headless Service',
    post('services', () => ({ metadata: { name }, spec: { clusterIP: 'None', ports: ports(12_000) } })),
  ),
  request(
    '60,000 externalIPs',
    post('services', () => ({
      metadata: { name },
      spec: {
        ports: [{ port: 80 }],
        externalIPs: many(60_000, (index) => `10.${index >> 16}.${(index >> 8) & 255}.9`),
      },
    })),
  ),
  request(
    '1,000 endpoints of 90 addresses',
    post('endpointslices', () => ({
      metadata: { name },
      addressType: 'IPv4',
      endpoints: many(1000, (a) => ({ addresses: many(90, (b) => `10.${a >> 8}.${a & 255}.${b}`) })),
      ports: [],
    })),
  ),
  request(
    '15,000 EndpointSlice ports',
    post('endpointslices', () => ({
      metadata: { name },
      addressType: 'IPv4',
      endpoints: [],
      ports: many(15_000, (index) => ({ name: `p${index}`, port: index })),
    })),
  ),
  request(
    '11,000 Ingress paths',
    post('ingresses', () => ({
      metadata: { name },
      spec: {
        rules: [
          {
            http: {
              paths: many(11_000, (index) => ({
                path: `/${index}`,
                pathType: 'Exact',
                backend: { service: { name: 'a', port: { number: 1 } } },
              })),
            },
          },
        ],
      },
    })),
  ),
  request(
    '10,000 containers',
    post('pods', () => ({
      metadata: { name },
      spec: { containers: many(10_000, (index) => ({ name: `c${index}`, image: 'a' })) },
    })),
  ),
  request(
    '40,000 variables of a container',
    post('pods', () => ({
      metadata: { name },
      spec: { containers: [{ name: 'a', image: 'a', env: many(40_000, (index) => ({ name: `V${index}` })) }] },
    })),
  ),
  request(
    'one value of 2.9 MB',
    post('configmaps', () => ({ metadata: { name }, data: { a: 'x'.repeat(2_900_000) } })),
  ),
];

const patching: readonly HostileCase[] = [
  request(
    'a strategic merge of 40,000 list items',
    patch('strategic', 'serviceaccounts', () => secrets(40_000)),
    stored('serviceaccounts', () => secrets(40_000)),
  ),
  request(
    'a strategic merge that orders 20,000 items',
    patch('strategic', 'serviceaccounts', () => {
      const reversed = many(20_000, (index) => ({ name: `s${19_999 - index}` }));
      return { secrets: reversed, '$setElementOrder/secrets': reversed };
    }),
    stored('serviceaccounts', () => secrets(40_000)),
  ),
  request(
    'a strategic merge that deletes 30,000 items',
    patch('strategic', 'serviceaccounts', () => ({
      secrets: many(30_000, (index) => ({ $patch: 'delete', name: `s${index}` })),
    })),
    stored('serviceaccounts', () => secrets(40_000)),
  ),
  request(
    'a strategic merge of 40,000 primitives',
    patch('strategic', 'configmaps', () => {
      const finalizers = many(40_000, (index) => `example.org/f${index}`);
      return { metadata: { finalizers, '$deleteFromPrimitiveList/finalizers': finalizers } };
    }),
    stored('configmaps'),
  ),
  request(
    'a merge patch of 60,000 unknown fields',
    patch('merge', 'configmaps', () => fieldsOf(60_000, 0)),
    stored('configmaps'),
  ),
  request(
    'a merge patch of 60,000 labels',
    patch('merge', 'configmaps', () => ({ metadata: { labels: fieldsOf(60_000, 'x') } })),
    stored('configmaps'),
  ),
  request(
    'an apply of 60,000 labels',
    patch('apply', 'configmaps', () => ({ ...configMap, metadata: { name, labels: fieldsOf(60_000, 'x') } })),
    stored('configmaps'),
  ),
  request(
    'an apply of 60,000 unknown fields',
    patch('apply', 'configmaps', () => ({ ...configMap, metadata: { name }, ...fieldsOf(60_000, 0) })),
    stored('configmaps'),
  ),
  request(
    'an apply of 40,000 list items over 40,000',
    patch('apply', 'serviceaccounts', () => ({
      kind: 'ServiceAccount',
      apiVersion: 'v1',
      metadata: { name },
      secrets: many(40_000, (index) => ({ name: `s${39_999 - index}` })),
    })),
    stored('serviceaccounts', () => secrets(40_000)),
  ),
  request(
    'a JSON patch of 10,000 inserts at the head of a list',
    patch('json', 'serviceaccounts', () =>
      many(10_000, (index) => ({ op: 'add', path: '/secrets/0', value: { name: `n${index}` } })),
    ),
    stored('serviceaccounts', () => secrets(40_000)),
  ),
  request(
    'a JSON patch of 10,000 removals at the head of a list',
    patch('json', 'serviceaccounts', () => many(10_000, () => ({ op: 'remove', path: '/secrets/0' }))),
    stored('serviceaccounts', () => secrets(40_000)),
  ),
  request(
    'a JSON patch of 10,000 copies of a list',
    patch('json', 'serviceaccounts', () =>
      many(10_000, (index) => ({ op: 'copy', from: '/secrets', path: `/metadata/annotations/${index}` })),
    ),
    stored('serviceaccounts', () => ({ metadata: { name, annotations: { a: '' } }, ...secrets(40_000) })),
  ),
  request(
    'a JSON patch of 10,000 tests of an object',
    patch('json', 'serviceaccounts', () =>
      many(10_000, () => ({ op: 'test', path: '/secrets/0', value: { name: 's0' } })),
    ),
    stored('serviceaccounts', () => secrets(40_000)),
  ),
  request(
    'a JSON patch of 60,000 operations',
    patch('json', 'configmaps', () => many(60_000, () => ({ op: 'add', path: '/data', value: {} }))),
    stored('configmaps'),
  ),
];

/** Kinds that are not stored or that grant rights. */
const access: readonly HostileCase[] = [
  request(
    'a review of a user with 90,000 groups',
    at('authorization.k8s.io/v1', 'localsubjectaccessreviews', ({ namespace }) => ({
      spec: { user: 'a', groups: many(90_000, (index) => `g${index}`), resourceAttributes: { namespace, verb: 'get' } },
    })),
  ),
  request(
    'a review with 15,000 selector requirements',
    at('authorization.k8s.io/v1', 'localsubjectaccessreviews', ({ namespace }) => ({
      spec: {
        user: 'a',
        resourceAttributes: {
          namespace,
          verb: 'list',
          resource: 'pods',
          labelSelector: {
            requirements: many(15_000, (index) => ({ key: `k${index}`, operator: 'In', values: ['a'] })),
          },
        },
      },
    })),
  ),
  request('a token for 90,000 audiences', ({ namespace }) => ({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/serviceaccounts/attacker/token`,
    body: JSON.stringify({ spec: { audiences: many(90_000, (index) => `a${index}`) } }),
  })),
  request(
    'a role of 10,000 rules',
    at('rbac.authorization.k8s.io/v1', 'roles', () => ({
      metadata: { name },
      rules: many(10_000, (index) => ({ verbs: ['get'], apiGroups: [''], resources: [`r${index}`] })),
    })),
  ),
  request(
    'a role of 15,000 names',
    at('rbac.authorization.k8s.io/v1', 'roles', () => ({
      metadata: { name },
      rules: [
        {
          verbs: ['get'],
          apiGroups: [''],
          resources: ['pods'],
          resourceNames: many(15_000, (index) => `n${index}`),
        },
      ],
    })),
  ),
  request(
    'a binding of 20,000 subjects',
    at('rbac.authorization.k8s.io/v1', 'rolebindings', () => ({
      metadata: { name },
      subjects: many(20_000, (index) => ({ kind: 'User', name: `u${index}`, apiGroup: 'rbac.authorization.k8s.io' })),
      roleRef: { kind: 'Role', name: 'hostile', apiGroup: 'rbac.authorization.k8s.io' },
    })),
  ),
  request('a deletion with 90,000 dry runs', ({ namespace }) => ({
    method: 'DELETE',
    path: `${collections.configmaps(namespace)}/bystander`,
    body: JSON.stringify({ dryRun: many(90_000, () => 'All') }),
  })),
];

const crowds: readonly HostileCase[] = [
  crowd(
    '60,000 labels',
    20,
    post('configmaps', () => ({
      metadata: { generateName: 'hostile-', labels: { ...fieldsOf(60_000, 'x'), hostile: '' } },
    })),
  ),
  crowd(
    '300,000 equal JSON keys',
    20,
    post('configmaps', () => `{"metadata":{"name":"${name}"},"data":{${members(300_000, () => '"a":""')}}}`),
  ),
  crowd(
    'an apply of 40,000 list items over 40,000',
    20,
    patch('apply', 'serviceaccounts', () => ({
      kind: 'ServiceAccount',
      apiVersion: 'v1',
      metadata: { name },
      secrets: many(40_000, (index) => ({ name: `s${39_999 - index}` })),
    })),
    stored('serviceaccounts', () => secrets(40_000)),
  ),
];

export const bodies: readonly HostileCase[] = [...decoding, ...writing, ...patching, ...access, ...crowds];
