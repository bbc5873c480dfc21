import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import { decode } from '../../api/schema/decode.ts';
import type { ExplainedAnswer } from '../../dns/inspect.ts';
import { inspectObjects } from '../../proxy/inspect.ts';
import { serviceRow } from '../server/service-row.ts';
import { connectionPath } from './connection-path.ts';

const name = 'web.shop.svc.cluster.local';

const service = (spec: object, rest: object = {}): Service =>
  serviceKind.applyDefaults(
    decode<Service>(serviceKind.schema, { metadata: { namespace: 'shop', name: 'web' }, spec, ...rest }).object,
  );
const web = service({
  clusterIP: '10.96.0.7',
  clusterIPs: ['10.96.0.7'],
  ports: [{ name: 'http', port: 80 }],
  selector: { app: 'web' },
});

const slice = (...ready: readonly boolean[]): EndpointSlice => ({
  metadata: { namespace: 'shop', name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
  addressType: 'IPv4',
  ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  endpoints: ready.map((each, index) => ({ addresses: [`10.0.0.${index + 1}`], conditions: { ready: each } })),
});

const found: ExplainedAnswer = {
  question: `${name}. IN A`,
  rcode: 'NOERROR',
  authoritative: true,
  answers: [{ record: `${name}. 30 IN A 10.96.0.7`, sources: ['Service/shop/web'] }],
  authority: [],
  additional: [],
  rule: 'records',
  why: [`${name} has A records`],
};
const missing: ExplainedAnswer = {
  ...found,
  rcode: 'NXDOMAIN',
  answers: [],
  rule: 'no-such-name',
  why: ['it has no cluster IP'],
};

function pathOf(
  object: Service,
  slices: readonly EndpointSlice[] | undefined,
  answers: readonly ExplainedAnswer[] | string = [found],
) {
  const row = serviceRow({ cluster: 'east', service: object, slices, exports: [], warnings: [] });
  const objects = { services: [object], slices: slices ?? [], imported: [], imports: [], serviceCidrs: [] };
  const inspection =
    slices === undefined
      ? undefined
      : inspectObjects({ ...objects, node: undefined, machineAddresses: [] }, { nodeName: 'node', mode: 'nftables' });
  return connectionPath({ name, row, service: object, answers, inspection }).steps;
}
const states = (steps: ReturnType<typeof pathOf>) => steps.map(({ title, state }) => `${title} ${state}`);

test('a Service that works has four steps, with the records, routes and endpoints of each', () => {
  const steps = pathOf(web, [slice(true, true)]);
  assert.deepEqual(states(steps), ['Name ok', 'Address ok', 'Route ok', 'Endpoints ok']);
  assert.deepEqual(
    steps.map(({ lines }) => lines.map(({ text }) => text)),
    [
      [`${name}. 30 IN A 10.96.0.7`],
      ['10.96.0.7'],
      ['10.96.0.7:80/TCP → 10.0.0.1:8080, 10.0.0.2:8080'],
      ['10.0.0.1:8080/TCP', '10.0.0.2:8080/TCP'],
    ],
  );
  assert.deepEqual(steps[0]?.why, [`${name} has A records`]);
});

test('without a ready endpoint the route and the endpoints are broken, with the reason of each endpoint', () => {
  const steps = pathOf(web, [slice(false)]);
  assert.deepEqual(states(steps), ['Name ok', 'Address ok', 'Route broken', 'Endpoints broken']);
  assert.deepEqual(steps[3]?.lines, [{ text: '10.0.0.1:8080/TCP', note: 'not used, not ready', isUsed: false }]);
});

test('a name that does not resolve is the broken step', () => {
  const [step] = pathOf(web, [slice(true)], [missing]);
  assert.deepEqual(
    [step?.state, step?.summary, step?.why],
    ['broken', `${name} does not resolve: NXDOMAIN`, ['it has no cluster IP']],
  );
});

test('a question that cannot be answered is not known', () => {
  const [step] = pathOf(web, [slice(true)], 'cluster east cannot be read');
  assert.deepEqual([step?.state, step?.summary], ['unknown', 'cluster east cannot be read']);
});

test('a headless Service has no route: clients connect to its endpoints', () => {
  const headless = service({
    clusterIP: 'None',
    clusterIPs: ['None'],
    ports: [{ name: 'http', port: 80 }],
    selector: { app: 'web' },
  });
  assert.deepEqual(states(pathOf(headless, [slice(true)])), ['Name ok', 'Endpoints ok']);
});

test('an alias ends at another name', () => {
  const alias = service({ type: 'ExternalName', externalName: 'db.example.org' });
  const steps = pathOf(alias, []);
  assert.deepEqual(states(steps), ['Name ok', 'Alias unknown']);
  assert.match(steps[1]?.summary ?? '', /db\.example\.org/);
});

test('nothing about endpoints is shown to a viewer who may not read them', () => {
  const steps = pathOf(web, undefined);
  assert.deepEqual(states(steps), ['Name ok', 'Address ok', 'Route unknown', 'Endpoints unknown']);
  assert.ok(steps.slice(2).every(({ lines }) => lines.length === 0));
});
