import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'js-yaml';
import { kubeconfig } from './kubeconfig.ts';
import { readyReport } from './report.ts';
import type { State } from './state.ts';
import { printState } from './state.ts';

const state: State = {
  clusters: [
    { name: 'east', server: 'https://127.0.0.1:6443', zones: [], serviceCIDRs: ['127.64.0.0/16'], parts: [] },
    {
      name: 'northwest',
      server: 'https://127.0.0.1:6444',
      zones: [],
      serviceCIDRs: ['10.0.0.0/16', 'fd00::/112'],
      parts: [],
    },
  ],
  pid: 42,
};

test('the report names all addresses and the duration of the start', () => {
  const options = { version: '1.2.3', kubeconfig: '/srv/.fairlead/kubeconfig', readyMs: 212.4, hasColors: false };
  assert.equal(
    readyReport(state, options),
    `fairlead 1.2.3 ready in 212 ms
  east       https://127.0.0.1:6443  services 127.64.0.0/16
  northwest  https://127.0.0.1:6444  services 10.0.0.0/16,fd00::/112
  export KUBECONFIG=/srv/.fairlead/kubeconfig
`,
  );
  const spaced = readyReport(state, { ...options, kubeconfig: "/home/o'neil/my data/kubeconfig" });
  assert.match(spaced, /export KUBECONFIG='\/home\/o'\\''neil\/my data\/kubeconfig'\n$/);
  const onTerminal = readyReport(state, { ...options, readyMs: 1234, hasColors: true });
  assert.equal(onTerminal.split('\n', 1)[0], '\u001B[1mfairlead 1.2.3 ready in 1.2 s\u001B[22m');
});

test('the columns of the report stay aligned if the DNS server of a cluster does not run', () => {
  const [east, ...others] = state.clusters;
  assert.ok(east !== undefined);
  const clusters = [{ ...east, dns: { address: '127.0.0.1', port: 1053 } }, ...others];
  const options = { version: '1.2.3', kubeconfig: '/kubeconfig', readyMs: 1, hasColors: false };
  const [, first = '', second = ''] = readyReport({ ...state, clusters }, options).split('\n');
  assert.match(first, / dns 127\.0\.0\.1:1053 /);
  assert.equal(first.indexOf('services'), second.indexOf('services'));
});

test('the report names parts that are not ready', () => {
  const options = { version: '1.2.3', kubeconfig: '/kubeconfig', readyMs: 212.4, hasColors: false };
  const [east, ...others] = state.clusters;
  assert.ok(east !== undefined);
  const parts = [
    { name: 'dns', problems: ['the component failed and is restarted: DNS port 127.0.0.1:1053 is in use'] },
  ];
  assert.match(
    readyReport({ ...state, clusters: [{ ...east, parts }, ...others] }, options),
    /^  dns of east is not ready: the component failed and is restarted: DNS port 127\.0\.0\.1:1053 is in use$/m,
  );
});

test('state.json has the fields for scripts', () => {
  assert.deepEqual(JSON.parse(printState(state)), state);
});

test('the kubeconfig has a context, a user and an authority per cluster, and the first context is current', () => {
  const clusters = state.clusters.map(({ name, server }) => ({
    name,
    server,
    ca: `CA ${name}`,
    pair: { cert: `CERT ${name}`, key: `KEY ${name}` },
  }));
  const text = kubeconfig({ clusters, user: 'admin' });
  const base64 = (value: string): string => Buffer.from(value).toString('base64');
  const userOf = (name: string): object => ({
    'client-certificate-data': base64(`CERT ${name}`),
    'client-key-data': base64(`KEY ${name}`),
  });
  assert.deepEqual(load(text), {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'east',
    clusters: [
      { name: 'east', cluster: { server: 'https://127.0.0.1:6443', 'certificate-authority-data': base64('CA east') } },
      {
        name: 'northwest',
        cluster: { server: 'https://127.0.0.1:6444', 'certificate-authority-data': base64('CA northwest') },
      },
    ],
    contexts: [
      { name: 'east', context: { cluster: 'east', user: 'admin@east' } },
      { name: 'northwest', context: { cluster: 'northwest', user: 'admin@northwest' } },
    ],
    users: [
      { name: 'admin@east', user: userOf('east') },
      { name: 'admin@northwest', user: userOf('northwest') },
    ],
  });
});
