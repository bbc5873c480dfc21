import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { pino } from 'pino';

import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import { serviceExportKind } from '../../api/kinds/multicluster/serviceexport/kind.ts';
import type { Kind } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { decode } from '../../api/schema/decode.ts';
import { Client } from '../../client/client.ts';
import { inProcess } from '../../client/in-process.ts';
import { testServer } from '../../server/testing/server.ts';
import { until } from '../../server/testing/until.ts';
import { Board } from '../server/board.ts';
import { allRights } from '../server/rights.ts';
import type { Viewer } from '../server/viewer.ts';
import { owner } from '../server/viewer.ts';
import { setOf, sourceOf } from '../testing/sources.ts';
import { balancerPlans } from './balancer-plans.ts';
import { ClusterSet } from './cluster-set.ts';
import { plannedExport } from './planned-export.ts';
import { answersTo } from './questions.ts';
import { detailsOf } from './service-details.ts';
import { sharingOf } from './sharing.ts';

const log = pino({ level: 'silent' });
const admin = { name: 'admin', uid: '', groups: ['system:masters', 'system:authenticated'] };
const web = {
  metadata: { namespace: 'shop', name: 'web' },
  spec: { type: 'LoadBalancer', ports: [{ name: 'http', port: 80 }], selector: { app: 'web' } },
};

describe('answers of the dashboard', () => {
  const stack = new AsyncDisposableStack();
  let board: Board;
  let set: ClusterSet;
  const clients = new Map<string, Client>();

  before(async () => {
    const sources = await Promise.all(
      ['east', 'west'].map(async (name) => {
        const server = stack.use(await testServer());
        const connect = (): Client => new Client(inProcess((call) => server.handle({ ...call, user: admin })));
        clients.set(name, stack.use(connect()));
        return sourceOf(name, connect);
      }),
    );
    await create('east', namespaceKind, { metadata: { name: 'shop' } });
    await create('west', namespaceKind, { metadata: { name: 'shop' } });
    await create('east', serviceKind, web);
    await create('east', endpointSliceKind, {
      metadata: { namespace: 'shop', name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
      addressType: 'IPv4',
      ports: [{ name: 'http', port: 8080 }],
      endpoints: [{ addresses: ['10.1.0.1'] }],
    });
    await create('east', serviceExportKind, { metadata: { namespace: 'shop', name: 'web' }, spec: {} });
    set = stack.use(new ClusterSet(sources, setOf(sources)));
    const shown = sources.map(({ connect, ...source }) => ({ ...source, client: stack.use(connect()) }));
    board = stack.use(new Board({ clusters: shown, log }));
    await Promise.all(board.feeds.map(({ synced }) => synced));
  });
  after(() => stack.disposeAsync());

  async function create<T extends ApiObject>(cluster: string, kind: Kind<T>, object: object): Promise<void> {
    await clients.get(cluster)?.create(kind, decode<T>(kind.schema, object).object);
  }
  /** Sees everything, but nothing in one namespace. */
  const without = (hidden: string): Viewer => ({
    ...owner,
    isOwner: false,
    rightsIn: (_, namespace) =>
      namespace === hidden
        ? { services: false, endpointslices: false, serviceexports: false, serviceimports: false, events: false }
        : allRights,
  });
  const details = (rightsIn = owner.rightsIn) => {
    const [feed] = board.feeds;
    const source = set.sources.get('east');
    const row = board.row('service/east/shop/web', rightsIn);
    assert.ok(feed !== undefined && source !== undefined && row?.kind === 'service');
    return detailsOf(row, { feed, source, set, rightsIn });
  };

  test('the details of a Service have the path of a connection, SRV names, YAML and the price at each cloud', async () => {
    const { paths, srv, yaml, plan } = await details();
    assert.deepEqual(
      paths.map(({ name }) => name),
      ['web.shop.svc.cluster.local'],
    );
    assert.ok(
      paths[0]?.steps.every(({ state }) => state === 'ok'),
      JSON.stringify(paths),
    );
    assert.deepEqual(srv, [{ name: '_http._tcp.web.shop.svc.cluster.local', port: '80/TCP' }]);
    assert.deepEqual(
      yaml.map(({ title }) => title),
      ['Service web', 'ServiceExport web', 'EndpointSlice web-1'],
    );
    assert.match(yaml[0]?.text ?? '', /^ {2}type: LoadBalancer$/m);
    assert.ok(plan?.rows.some(({ provider, works }) => provider === 'aws' && works === 'yes'));
  });

  test('the details have nothing of kinds that the viewer may not read', async () => {
    const { yaml, events, paths } = await details(() => ({
      ...allRights,
      endpointslices: false,
      serviceexports: false,
      events: false,
    }));
    assert.deepEqual(
      yaml.map(({ title }) => title),
      ['Service web'],
    );
    assert.deepEqual(events, []);
    assert.doesNotMatch(JSON.stringify(paths), /10\.1\.0\.1/);
  });

  const ask = (text: string, viewer = owner, cluster = 'east') =>
    answersTo({ text, type: 'A', cluster }, { board, set, viewer });

  test('a name is answered with its objects, and a short one is completed if it names a namespace', async () => {
    for (const text of ['web.shop.svc.cluster.local', 'web.shop']) {
      const { answers } = await ask(text);
      assert.deepEqual(
        answers.map(({ rcode, records }) => [rcode, records.map(({ note }) => note)]),
        [['NOERROR', ['Service/shop/web']]],
      );
    }
    const { answers } = await ask('example.org');
    assert.match(answers[0]?.question ?? '', /^example\.org\. IN A$/);
  });

  test('a missing name has its reason, in every cluster', async () => {
    const { answers } = await ask('web.shop.svc.cluster.local', owner, '');
    assert.deepEqual(
      answers.map(({ cluster, rcode }) => `${cluster} ${rcode}`),
      ['east NOERROR', 'west NXDOMAIN'],
    );
    assert.match(answers[1]?.why.join() ?? '', /Service "shop\/web" does not exist/);
  });

  test('a lost cluster does not delay the answers of others', { timeout: 10_000 }, async () => {
    const connect = (): Client => new Client(inProcess(() => Promise.reject(new Error('connect ECONNREFUSED'))));
    const sources = [...set.sources.values(), sourceOf('north', connect)];
    await using withLost = new ClusterSet(sources, setOf(sources));
    await using shown = new Board({
      clusters: sources.map(({ connect: open, ...source }) => ({ ...source, client: open() })),
      log,
    });
    await until('the cluster is lost', () => shown.feed('north')?.lost !== undefined);
    const name = 'web.shop.svc.cluster.local';
    const asked = { text: name, type: 'A', cluster: '' };
    const { answers } = await answersTo(asked, { board: shown, set: withLost, viewer: owner });
    assert.deepEqual(
      answers.map(({ cluster, rcode }) => `${cluster} ${rcode}`),
      ['east NOERROR', 'west NXDOMAIN', 'north no answer'],
    );
    assert.deepEqual(answers[2]?.why, ['requests to cluster north fail: connect ECONNREFUSED']);
  });

  test('an address is answered with its name and with everything that has it', async () => {
    const row = board.row('service/east/shop/web', owner.rightsIn);
    const [address = ''] = row?.kind === 'service' ? row.addresses : [];
    assert.deepEqual((await ask(address)).holders, [
      { cluster: 'east', id: 'service/east/shop/web', text: 'cluster IP of Service shop/web' },
    ]);
    assert.deepEqual(
      (await ask('10.1.0.1')).holders.map(({ text }) => text),
      ['endpoint of Service shop/web'],
    );
  });

  test('nothing is answered about namespaces that a viewer may not read', async () => {
    const hidden = without('shop');
    const { answers } = await ask('web.shop.svc.cluster.local', hidden);
    assert.deepEqual(answers[0]?.records, []);
    assert.match(answers[0]?.why.join() ?? '', /you may not list Services in namespace shop/);
    assert.deepEqual((await ask('10.1.0.1', hidden)).holders, []);
    await assert.rejects(
      plannedExport({ verb: 'export', cluster: 'east', service: 'shop/web' }, { set, viewer: hidden }),
      {
        status: 403,
      },
    );
  });

  test('an invalid name is an error of the question', async () => {
    await assert.rejects(ask('a..b'), { status: 400, message: /is not a domain name/ });
  });

  test('an export is planned with its effect in each cluster, and nothing is written', async () => {
    const { text, hasConflicts } = await plannedExport(
      { verb: 'unexport', cluster: 'east', service: 'shop/web' },
      { set, viewer: owner },
    );
    assert.match(text, /^shop\/web\n/);
    assert.equal(hasConflicts, false);
    assert.equal((await clients.get('east')?.list(serviceExportKind))?.items.length, 1);
  });

  test('the export of a manifest is planned before its Service exists, with its conflicts', async () => {
    const manifest = `
apiVersion: v1
kind: Service
metadata: { namespace: shop, name: web }
spec:
  ports: [{ name: http, port: 8081 }]`;
    const { text, hasConflicts } = await plannedExport(
      { verb: 'export', cluster: 'west', manifest },
      { set, viewer: owner },
    );
    assert.match(text, /conflict over spec\.ports\[http\]/);
    assert.equal(hasConflicts, true);
  });

  test('the state of a Service in the set follows changes', async () => {
    const broken = await sharingOf('shop/api', 'west', set);
    assert.equal(broken.steps.find(({ state }) => state === 'broken')?.step, 'export');
    await create('east', serviceKind, {
      metadata: { namespace: 'shop', name: 'api' },
      spec: { ports: [{ port: 80 }] },
    });
    await create('east', serviceExportKind, { metadata: { namespace: 'shop', name: 'api' }, spec: {} });
    await until('the export is seen', async () => {
      const { steps } = await sharingOf('shop/api', 'west', set);
      return steps.find(({ step }) => step === 'export')?.state === 'ok';
    });
  });

  const wrong: readonly {
    readonly name: string;
    readonly form: Readonly<Record<string, unknown>>;
    readonly want: RegExp;
  }[] = [
    { name: 'an unknown verb', form: { verb: 'delete' }, want: /^verb: expected export or unexport$/ },
    { name: 'no cluster', form: { verb: 'export' }, want: /^choose the exporting cluster$/ },
    {
      name: 'an unknown cluster',
      form: { verb: 'export', cluster: 'north', service: 'shop/web' },
      want: /no cluster "north"/,
    },
    {
      name: 'no Service',
      form: { verb: 'export', cluster: 'east', service: 'web' },
      want: /^expected NAMESPACE\/NAME/,
    },
    { name: 'no YAML', form: { verb: 'export', cluster: 'east', manifest: 'a: [' }, want: /^the manifest is not YAML/ },
    {
      name: 'another kind',
      form: { verb: 'export', cluster: 'east', manifest: 'kind: Pod' },
      want: /no Service and no ServiceExport/,
    },
    {
      name: 'an invalid Service',
      form: {
        verb: 'export',
        cluster: 'east',
        manifest: 'kind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 0}]}',
      },
      want: /spec\.ports\[0\]\.port/,
    },
    {
      name: 'aliases that would be larger than the memory',
      form: { verb: 'export', cluster: 'east', manifest: 'a: &a [x]\nb: [*a, *a]' },
      want: /^the manifest is not YAML/,
    },
  ];
  for (const { name, form, want } of wrong) {
    test(`a plan with ${name} is rejected with the reason`, async () => {
      await assert.rejects(plannedExport(form, { set, viewer: owner }), { message: want });
    });
  }
});

test('load balancers are planned for each Service of a manifest', () => {
  const manifest = (name: string, type: string): string =>
    `apiVersion: v1\nkind: Service\nmetadata: {name: ${name}}\nspec: {type: ${type}, ports: [{port: 53, protocol: UDP}]}\n`;
  const plans = balancerPlans([manifest('a', 'LoadBalancer'), manifest('b', 'ClusterIP')].join('---\n'));
  assert.deepEqual(
    plans.map(({ service, ports }) => `${service} ${ports}`),
    ['default/a 53/UDP'],
  );
  assert.throws(() => balancerPlans(manifest('b', 'ClusterIP')), {
    status: 400,
    message: /no Service of type LoadBalancer/,
  });
});
