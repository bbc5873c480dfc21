import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';

import { kindFor } from '../../api/kinds/registry.ts';
import type { RunningPart } from '../../client/part.ts';
import type { TestServer } from '../../server/testing/server.ts';
import { testServer } from '../../server/testing/server.ts';
import { until } from '../../server/testing/until.ts';
import { clusterOf } from '../testing/cluster.ts';

const group = 'gateway.networking.k8s.io';
const infra = '/apis/gateway.networking.k8s.io/v1/namespaces/default';

let server: TestServer;
let part: RunningPart;
before(async () => {
  server = await testServer();
  part = clusterOf(server).start();
  for (const name of ['other', 'labelled']) {
    await create('/api/v1/namespaces', { metadata: { name, labels: { routes: name === 'labelled' ? 'yes' : 'no' } } });
  }
  for (const namespace of ['default', 'other'])
    await backend('echo', namespace, [`192.0.2.${namespace === 'other' ? 9 : 1}`]);
});
after(async () => {
  await part[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

async function create(path: string, body: object): Promise<void> {
  const [, root = '', name = '', version = ''] = path.split('/');
  const plural = path.slice(path.lastIndexOf('/') + 1);
  const kind = kindFor(root === 'api' ? '' : name, root === 'api' ? name : version, plural)?.kind;
  const apiVersion = root === 'api' ? name : `${name}/${version}`;
  const answer = await server.ask('POST', path, { body: { apiVersion, kind, ...body } });
  assert.equal(answer.status, 201, answer.text);
}

/** A Service for TCP 3000 and UDP 3001, and its endpoints. */
async function backend(name: string, namespace: string, addresses: readonly string[]): Promise<void> {
  const ports = [
    { name: 'tcp', port: 3000, protocol: 'TCP' },
    { name: 'udp', port: 3001, protocol: 'UDP' },
  ];
  await create(`/api/v1/namespaces/${namespace}/services`, { metadata: { name }, spec: { ports } });
  await create(`/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`, {
    metadata: { name: `${name}-1`, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
    ports: [
      { name: 'tcp', port: 8000, protocol: 'TCP' },
      { name: 'udp', port: 8001, protocol: 'UDP' },
    ],
  });
}

interface Listener {
  readonly name: string;
  readonly port: number;
  readonly protocol: string;
  readonly allowedRoutes?: object;
}

const gateway = (name: string, listeners: readonly Listener[], spec: object = {}): Promise<void> =>
  create(`${infra}/gateways`, { metadata: { name }, spec: { gatewayClassName: 'fairlead', listeners, ...spec } });

const tcp = (port: number, allowedRoutes?: object): Listener => ({
  name: `tcp-${port}`,
  port,
  protocol: 'TCP',
  ...(allowedRoutes === undefined ? {} : { allowedRoutes }),
});
const udp = (port: number): Listener => ({ name: `udp-${port}`, port, protocol: 'UDP' });

interface RouteGiven {
  readonly kind?: 'tcproutes' | 'udproutes';
  readonly namespace?: string;
  readonly parents: readonly object[];
  readonly backends?: readonly object[];
}

const echo = { name: 'echo', port: 3000 };
const route = (
  name: string,
  { kind = 'tcproutes', namespace = 'default', parents, backends = [echo] }: RouteGiven,
): Promise<void> =>
  create(`${infra.replace('default', namespace)}/${kind}`, {
    metadata: { name },
    spec: { parentRefs: parents, rules: [{ backendRefs: backends }] },
  });

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
}

/** `Accepted=True Accepted, Programmed=False Invalid`. */
const textOf = (conditions: readonly Condition[]): string =>
  conditions
    .map(({ type, status, reason }) => `${type}=${status} ${reason}`)
    .sort()
    .join(', ');

// oxlint-disable-next-line typescript/no-explicit-any -- a test reads any shape
const read = async (path: string): Promise<any> => (await server.ask('GET', path)).body;

/** Waits until the conditions of a path are these. */
async function conditionsAre(
  path: string,
  pick: (body: never) => readonly Condition[] | undefined,
  want: string,
): Promise<void> {
  let last = '';
  await until(
    `${path} is ${want}`,
    async () => {
      last = textOf(pick((await read(path)) as never) ?? []);
      return last === want || undefined;
    },
    10_000,
  ).catch(() => assert.equal(last, want));
}

const ofObject = (body: { status: { conditions: readonly Condition[] } }): readonly Condition[] =>
  body.status.conditions;
const ofParent = (body: {
  status?: { parents: readonly { conditions: readonly Condition[] }[] };
}): readonly Condition[] | undefined => body.status?.parents[0]?.conditions;
const ofListener =
  (name: string) =>
  (body: {
    status: { listeners?: readonly { name: string; conditions: readonly Condition[] }[] };
  }): readonly Condition[] | undefined =>
    body.status.listeners?.find((each) => each.name === name)?.conditions;

const gatewayIs = (name: string, want: string): Promise<void> =>
  conditionsAre(`${infra}/gateways/${name}`, ofObject, want);
const programmed = 'Accepted=True Accepted, Programmed=True Programmed';
const listening =
  'Accepted=True Accepted, Conflicted=False NoConflicts, Programmed=True Programmed, ResolvedRefs=True ResolvedRefs';
const routed = 'Accepted=True Accepted, ResolvedRefs=True ResolvedRefs';

const slicesOf = async (
  name: string,
): Promise<
  readonly {
    readonly endpoints: readonly { readonly addresses: readonly string[] }[];
    readonly ports: readonly object[];
    readonly metadata: { readonly annotations: Record<string, string> };
  }[]
> =>
  (
    await read(
      `/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io/service-name%3D${name}-fairlead`,
    )
  ).items;

suite('the class', () => {
  test('fairlead exists and is accepted', async () => {
    const path = `/apis/${group}/v1/gatewayclasses/fairlead`;
    await until('it exists', async () => (await read(path)).kind === 'GatewayClass' || undefined);
    await conditionsAre(path, ofObject, 'Accepted=True Accepted, SupportedVersion=True SupportedVersion');
    const { status } = await read(path);
    assert.deepEqual(
      status.supportedFeatures.map(({ name }: { name: string }) => name),
      ['Gateway', 'ReferenceGrant', 'TCPRoute', 'UDPRoute'],
    );
  });

  test('with parameters is not accepted, and its Gateways are left alone', async () => {
    await create(`/apis/${group}/v1/gatewayclasses`, {
      metadata: { name: 'parameters' },
      spec: { controllerName: 'fairlead.dev/gateway', parametersRef: { group: '', kind: 'ConfigMap', name: 'x' } },
    });
    await conditionsAre(
      `/apis/${group}/v1/gatewayclasses/parameters`,
      ofObject,
      'Accepted=False InvalidParameters, SupportedVersion=True SupportedVersion',
    );
  });
});

suite('a Gateway', () => {
  test('with TCP and UDP on one port gets one address, Services of its routes and their endpoints', async () => {
    await gateway('both', [tcp(53), udp(53)], { infrastructure: { labels: { team: 'dns' } } });
    await route('both', { parents: [{ name: 'both' }] });
    await route('both', { kind: 'udproutes', parents: [{ name: 'both' }], backends: [{ name: 'echo', port: 3001 }] });
    await gatewayIs('both', programmed);
    await conditionsAre(`${infra}/tcproutes/both`, ofParent, routed);
    await conditionsAre(`${infra}/udproutes/both`, ofParent, routed);
    for (const name of ['tcp-53', 'udp-53']) await conditionsAre(`${infra}/gateways/both`, ofListener(name), listening);
    const { status, metadata } = await read(`${infra}/gateways/both`);
    assert.match(status.addresses[0].value, /^127\.40\./);
    assert.deepEqual(
      status.listeners.map(
        ({
          name,
          attachedRoutes,
          supportedKinds,
        }: {
          name: string;
          attachedRoutes: number;
          supportedKinds: readonly object[];
        }) => [name, attachedRoutes, supportedKinds],
      ),
      [
        ['tcp-53', 1, [{ group, kind: 'TCPRoute' }]],
        ['udp-53', 1, [{ group, kind: 'UDPRoute' }]],
      ],
    );
    assert.ok(
      status.conditions.every(({ observedGeneration }: Condition) => observedGeneration === metadata.generation),
    );
    const service = await read('/api/v1/namespaces/default/services/both-fairlead');
    assert.equal(service.metadata.labels.team, 'dns');
    assert.equal(service.metadata.ownerReferences[0].uid, metadata.uid);
    const slices = await slicesOf('both');
    assert.deepEqual(
      slices.map(({ ports }) => ports).flat(),
      slices.length === 2 ? slices.map(({ ports }) => ports[0]) : [],
    );
    assert.deepEqual(
      new Set(slices.flatMap(({ endpoints }) => endpoints.flatMap(({ addresses }) => addresses))),
      new Set(['192.0.2.1']),
    );
  });

  test('follows the endpoints of its backends, and goes with everything it had', async () => {
    await backend('moving', 'default', ['192.0.2.20']);
    await gateway('moving', [tcp(80)]);
    await route('moving', { parents: [{ name: 'moving' }], backends: [{ name: 'moving', port: 3000 }] });
    await until(
      'it has the endpoint',
      async () => (await slicesOf('moving'))[0]?.endpoints[0]?.addresses[0] === '192.0.2.20' || undefined,
    );
    await server.ask('PATCH', '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/moving-1', {
      type: 'application/merge-patch+json',
      body: { endpoints: [{ addresses: ['192.0.2.21'], conditions: { ready: true } }] },
    });
    await until(
      'it has the new endpoint',
      async () => (await slicesOf('moving'))[0]?.endpoints[0]?.addresses[0] === '192.0.2.21' || undefined,
    );
    await server.ask('DELETE', `${infra}/gateways/moving`);
    const service = '/api/v1/namespaces/default/services/moving-fairlead';
    await until('the Service is gone', async () => (await server.ask('GET', service)).status === 404 || undefined);
    await until(
      'the route has no status',
      async () => (await read(`${infra}/tcproutes/moving`)).status.parents.length === 0 || undefined,
    );
  });

  test('with a protocol that is not served, serves the others', async () => {
    await gateway('mixed', [tcp(80), { name: 'web', port: 8080, protocol: 'HTTP' }]);
    await gatewayIs('mixed', 'Accepted=True ListenersNotValid, Programmed=True Programmed');
    await conditionsAre(
      `${infra}/gateways/mixed`,
      ofListener('web'),
      'Accepted=False UnsupportedProtocol, Conflicted=False NoConflicts, Programmed=False Invalid, ResolvedRefs=True ResolvedRefs',
    );
    await route('mixed', { parents: [{ name: 'mixed', sectionName: 'web' }] });
    await conditionsAre(
      `${infra}/tcproutes/mixed`,
      ofParent,
      'Accepted=False NotAllowedByListeners, ResolvedRefs=True ResolvedRefs',
    );
  });

  test('with TCP and HTTP on one port has a conflict', async () => {
    await gateway('conflict', [tcp(80), { name: 'web', port: 80, protocol: 'HTTP' }]);
    await gatewayIs('conflict', 'Accepted=False ListenersNotValid, Programmed=False Invalid');
    await conditionsAre(
      `${infra}/gateways/conflict`,
      ofListener('tcp-80'),
      'Accepted=False PortUnavailable, Conflicted=True ProtocolConflict, Programmed=False Invalid, ResolvedRefs=True ResolvedRefs',
    );
  });

  test('that allows a kind of another protocol reports it', async () => {
    await gateway('kinds', [tcp(80, { kinds: [{ kind: 'TCPRoute' }, { kind: 'UDPRoute' }] })]);
    await conditionsAre(
      `${infra}/gateways/kinds`,
      ofListener('tcp-80'),
      'Accepted=True Accepted, Conflicted=False NoConflicts, Programmed=True Programmed, ResolvedRefs=False InvalidRouteKinds',
    );
  });

  test('shares a requested address with another one, except its ports', async () => {
    const addresses = [{ value: '127.40.7.7' }];
    await gateway('first', [tcp(80)], { addresses });
    await gatewayIs('first', programmed);
    await new Promise((resolve) => setTimeout(resolve, 1100)); // creation times have seconds
    await gateway('second', [tcp(80), udp(80), tcp(81)], { addresses });
    await gatewayIs('second', 'Accepted=True ListenersNotValid, Programmed=True Programmed');
    await conditionsAre(
      `${infra}/gateways/second`,
      ofListener('tcp-80'),
      'Accepted=False PortUnavailable, Conflicted=False NoConflicts, Programmed=False Invalid, ResolvedRefs=True ResolvedRefs',
    );
    await conditionsAre(`${infra}/gateways/second`, ofListener('tcp-81'), listening);
    assert.equal((await read(`${infra}/gateways/second`)).status.addresses[0].value, '127.40.7.7');
    await gatewayIs('first', programmed);
    await server.ask('DELETE', `${infra}/gateways/first`);
    await gatewayIs('second', programmed);
  });

  test('with an address outside of all pools is not programmed', async () => {
    await gateway('outside', [tcp(80)], { addresses: [{ value: '198.51.100.1' }] });
    await gatewayIs('outside', 'Accepted=True Accepted, Programmed=False AddressNotUsable');
  });

  test('with an address that is no IP address is not accepted', async () => {
    await gateway('named', [tcp(80)], { addresses: [{ type: 'Hostname', value: 'example.org' }] });
    await gatewayIs('named', 'Accepted=False UnsupportedAddress, Programmed=False Invalid');
  });
});

suite('a route', () => {
  before(() =>
    gateway('main', [
      tcp(9000),
      tcp(9001),
      tcp(9002, { namespaces: { from: 'All' } }),
      tcp(9003, { namespaces: { from: 'Selector', selector: { matchLabels: { routes: 'yes' } } } }),
    ]),
  );

  const rows: readonly (RouteGiven & { readonly name: string; readonly want: string })[] = [
    { name: 'by port', parents: [{ name: 'main', port: 9000 }], want: routed },
    { name: 'by section and port', parents: [{ name: 'main', sectionName: 'tcp-9001', port: 9001 }], want: routed },
    {
      name: 'by another port',
      parents: [{ name: 'main', port: 1 }],
      want: 'Accepted=False NoMatchingParent, ResolvedRefs=True ResolvedRefs',
    },
    {
      name: 'of another protocol',
      kind: 'udproutes',
      parents: [{ name: 'main' }],
      backends: [{ name: 'echo', port: 3001 }],
      want: 'Accepted=False NotAllowedByListeners, ResolvedRefs=True ResolvedRefs',
    },
    {
      name: 'of another namespace',
      namespace: 'other',
      parents: [{ name: 'main', namespace: 'default', port: 9000 }],
      want: 'Accepted=False NotAllowedByListeners, ResolvedRefs=True ResolvedRefs',
    },
    {
      name: 'of an allowed namespace',
      namespace: 'other',
      parents: [{ name: 'main', namespace: 'default', port: 9002 }],
      want: routed,
    },
    {
      name: 'of a selected namespace',
      namespace: 'labelled',
      parents: [{ name: 'main', namespace: 'default', port: 9003 }],
      want: 'Accepted=True Accepted, ResolvedRefs=False BackendNotFound',
    },
    {
      name: 'to a missing Service',
      parents: [{ name: 'main' }],
      backends: [{ name: 'none', port: 1 }],
      want: 'Accepted=True Accepted, ResolvedRefs=False BackendNotFound',
    },
    {
      name: 'to a missing port',
      parents: [{ name: 'main' }],
      backends: [{ name: 'echo', port: 1 }],
      want: 'Accepted=True Accepted, ResolvedRefs=False BackendNotFound',
    },
    {
      name: 'to a port of another protocol',
      parents: [{ name: 'main' }],
      backends: [{ name: 'echo', port: 3001 }],
      want: 'Accepted=True Accepted, ResolvedRefs=False UnsupportedProtocol',
    },
    {
      name: 'to another kind',
      parents: [{ name: 'main' }],
      backends: [{ group: 'example.org', kind: 'Database', name: 'x', port: 1 }],
      want: 'Accepted=True Accepted, ResolvedRefs=False InvalidKind',
    },
    {
      name: 'to another namespace',
      parents: [{ name: 'main' }],
      backends: [{ ...echo, namespace: 'other' }],
      want: 'Accepted=True Accepted, ResolvedRefs=False RefNotPermitted',
    },
  ];
  for (const { name, want, ...given } of rows) {
    test(`${name}: ${want}`, async () => {
      const object = name.replaceAll(' ', '-').toLowerCase();
      await route(object, given);
      const path = `${infra.replace('default', given.namespace ?? 'default')}/${given.kind ?? 'tcproutes'}/${object}`;
      await conditionsAre(path, ofParent, want);
      const { status } = await read(path);
      assert.equal(status.parents[0].controllerName, 'fairlead.dev/gateway');
    });
  }

  test('to another namespace is resolved once a ReferenceGrant permits it, and no longer without it', async () => {
    const path = `${infra}/tcproutes/to-another-namespace`;
    const grants = `${infra.replace('default', 'other')}/referencegrants`;
    await create(grants, {
      metadata: { name: 'echo' },
      spec: {
        from: [{ group, kind: 'TCPRoute', namespace: 'default' }],
        to: [{ group: '', kind: 'Service', name: 'echo' }],
      },
    });
    await conditionsAre(path, ofParent, routed);
    await server.ask('DELETE', `${grants}/echo`);
    await conditionsAre(path, ofParent, 'Accepted=True Accepted, ResolvedRefs=False RefNotPermitted');
  });

  test('that is older than another at one listener gets its connections, by weight', async () => {
    await backend('light', 'default', ['192.0.2.31']);
    await backend('heavy', 'default', ['192.0.2.32', '192.0.2.33']);
    await backend('none', 'default', ['192.0.2.34']);
    await gateway('weights', [tcp(80)]);
    const backends = [
      ['light', 30],
      ['heavy', 70],
      ['none', 0],
    ].map(([name, weight]) => ({ name, port: 3000, weight }));
    await route('weights-older', { parents: [{ name: 'weights' }], backends });
    await new Promise((resolve) => setTimeout(resolve, 1100)); // creation times have seconds
    await route('weights-newer', { parents: [{ name: 'weights' }] });
    await conditionsAre(`${infra}/tcproutes/weights-newer`, ofParent, routed);
    await until(
      'two routes are attached',
      async () => (await read(`${infra}/gateways/weights`)).status.listeners[0].attachedRoutes === 2 || undefined,
    );
    const slices = await slicesOf('weights');
    assert.deepEqual(
      new Set(
        slices.map(
          ({ metadata: { annotations } }) =>
            `${annotations['gateway.fairlead.dev/backend']} ${annotations['gateway.fairlead.dev/weight']}`,
        ),
      ),
      new Set(['Service default/light 3000 30', 'Service default/heavy 3000 70']),
    );
  });

  test('leads to a ServiceImport, whose endpoints are in other clusters', async () => {
    await create('/apis/multicluster.x-k8s.io/v1beta1/namespaces/default/serviceimports', {
      metadata: { name: 'far' },
      spec: { type: 'ClusterSetIP', ports: [{ name: 'tcp', port: 3000, protocol: 'TCP' }] },
    });
    await create('/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', {
      metadata: {
        name: 'far-west',
        labels: {
          'multicluster.kubernetes.io/service-name': 'far',
          'multicluster.kubernetes.io/source-cluster': 'west',
        },
      },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['192.0.2.41'], conditions: { ready: true } }],
      ports: [{ name: 'tcp', port: 8000, protocol: 'TCP' }],
    });
    await gateway('far', [tcp(80)]);
    await route('far', {
      parents: [{ name: 'far' }],
      backends: [{ group: 'multicluster.x-k8s.io', kind: 'ServiceImport', name: 'far', port: 3000 }],
    });
    await conditionsAre(`${infra}/tcproutes/far`, ofParent, routed);
    await until(
      'it has the endpoint',
      async () => (await slicesOf('far'))[0]?.endpoints[0]?.addresses[0] === '192.0.2.41' || undefined,
    );
  });
});
