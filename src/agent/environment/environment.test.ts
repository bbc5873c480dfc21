import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { ConfigMap } from '../../api/kinds/core/configmap/schema.ts';
import type { Container, Pod } from '../../api/kinds/core/pod/schema.ts';
import type { Secret } from '../../api/kinds/core/secret/schema.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { expand } from './expand.ts';
import { environmentOf } from './variables.ts';

test('$(NAME) is expanded as in Kubernetes', () => {
  const table: readonly (readonly [given: string, want: string])[] = [
    ['$(A)', 'a'],
    ['x$(A)y$(B)', 'xay$(A)'],
    ['$(UNKNOWN)', '$(UNKNOWN)'],
    ['$$(A)', '$(A)'],
    ['$$$(A)', '$a'],
    ['$$$$', '$$'],
    ['$A', '$A'],
    ['$(A', '$(A'],
    ['$()', '$()'],
    ['$', '$'],
  ];
  const values: Readonly<Record<string, string>> = { A: 'a', B: '$(A)' };
  for (const [given, want] of table) {
    assert.equal(
      expand(given, (name) => values[name]),
      want,
      given,
    );
  }
});

const facts = {
  podIps: ['10.1.0.7', 'fd00::7'],
  hostIps: ['192.0.2.1'],
  nodeName: 'node-1',
  allocatable: { cpu: '2', memory: '1Gi' },
};

function environment(container: Partial<Container>, services: readonly Service[] = [], objects: object = {}) {
  const whole = { name: 'c', resources: {}, ...container } as Container;
  const metadata = { namespace: 'shop', name: 'web-0', uid: 'u1', labels: { app: 'web' }, annotations: {} };
  const pod = { metadata, spec: { containers: [whole], serviceAccountName: 'robot' }, status: {} } as unknown as Pod;
  const { maps = {}, secrets = {} } = objects as Record<string, Record<string, object>>;
  return environmentOf({
    pod,
    container: whole,
    facts,
    services,
    objects: {
      configMap: (name) => maps[name] as ConfigMap | undefined,
      secret: (name) => secrets[name] as Secret | undefined,
    },
    volumes: new Map([['my-data', '/agent/volumes/my-data']]),
  });
}

test('variables of all sources, later ones over earlier ones', () => {
  const { variables, command, args } = environment(
    {
      command: ['run', '$(NAME)'],
      args: ['$(FIRST)', '$(NONE)', '$(WEB_SERVICE_HOST)'],
      envFrom: [
        { configMapRef: { name: 'a' } },
        { prefix: 'P_', configMapRef: { name: 'b' } },
        { secretRef: { name: 's' } },
        { configMapRef: { name: 'missing', optional: true } },
      ],
      env: [
        { name: 'FIRST', value: 'literal of $(ONE)' },
        { name: 'SECOND', value: '$(FIRST), $(LATER)' },
        { name: 'LATER', value: 'x' },
        { name: 'NAME', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } },
        { name: 'IPS', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'status.podIPs' } } },
        { name: 'APP', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: "metadata.labels['app']" } } },
        { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
        { name: 'MEMORY', valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '1Mi' } } },
        { name: 'REQUEST', valueFrom: { resourceFieldRef: { resource: 'requests.cpu', divisor: '1m' } } },
        { name: 'KEY', valueFrom: { secretKeyRef: { name: 's', key: 'password' } } },
        { name: 'NO_KEY', valueFrom: { configMapKeyRef: { name: 'a', key: 'none', optional: true } } },
      ],
      resources: { requests: { cpu: '1500u' }, limits: { cpu: '1500m' } },
    } as Partial<Container>,
    [
      {
        metadata: { namespace: 'shop', name: 'web' },
        spec: { clusterIP: '10.0.0.9', ports: [{ name: 'http-api', port: 80, protocol: 'TCP' }] },
      } as unknown as Service,
      {
        metadata: { namespace: 'other', name: 'far' },
        spec: { clusterIP: '10.0.0.8', ports: [{ port: 1 }] },
      } as unknown as Service,
      {
        metadata: { namespace: 'shop', name: 'headless' },
        spec: { clusterIP: 'None', ports: [{ port: 1 }] },
      } as unknown as Service,
      {
        metadata: { namespace: 'default', name: 'kubernetes' },
        spec: { clusterIP: '10.0.0.1', ports: [{ name: 'https', port: 443, protocol: 'TCP' }] },
      } as unknown as Service,
    ],
    {
      maps: { a: { data: { ONE: '1', TWO: '2' } }, b: { data: { TWO: 'two' } } },
      secrets: { s: { data: { password: Buffer.from('geheim').toString('base64') } } },
    },
  );
  const { POD_IP, POD_NAME, POD_NAMESPACE, NODE_NAME, HOSTNAME, VOLUME_MY_DATA, ...others } = variables;
  assert.deepEqual(
    { POD_IP, POD_NAME, POD_NAMESPACE, NODE_NAME, HOSTNAME, VOLUME_MY_DATA },
    {
      POD_IP: '10.1.0.7',
      POD_NAME: 'web-0',
      POD_NAMESPACE: 'shop',
      NODE_NAME: 'node-1',
      HOSTNAME: 'web-0',
      VOLUME_MY_DATA: '/agent/volumes/my-data',
    },
  );
  const links = Object.fromEntries(
    Object.entries(others).filter(([name]) => /^(WEB|KUBERNETES|FAR|HEADLESS)_/.test(name)),
  );
  assert.deepEqual(links, {
    KUBERNETES_SERVICE_HOST: '10.0.0.1',
    KUBERNETES_SERVICE_PORT: '443',
    KUBERNETES_SERVICE_PORT_HTTPS: '443',
    KUBERNETES_PORT: 'tcp://10.0.0.1:443',
    KUBERNETES_PORT_443_TCP: 'tcp://10.0.0.1:443',
    KUBERNETES_PORT_443_TCP_PROTO: 'tcp',
    KUBERNETES_PORT_443_TCP_PORT: '443',
    KUBERNETES_PORT_443_TCP_ADDR: '10.0.0.1',
    WEB_SERVICE_HOST: '10.0.0.9',
    WEB_SERVICE_PORT: '80',
    WEB_SERVICE_PORT_HTTP_API: '80',
    WEB_PORT: 'tcp://10.0.0.9:80',
    WEB_PORT_80_TCP: 'tcp://10.0.0.9:80',
    WEB_PORT_80_TCP_PROTO: 'tcp',
    WEB_PORT_80_TCP_PORT: '80',
    WEB_PORT_80_TCP_ADDR: '10.0.0.9',
  });
  const own = Object.fromEntries(Object.entries(others).filter(([name]) => !(name in links)));
  assert.deepEqual(own, {
    ONE: '1',
    TWO: '2',
    P_TWO: 'two',
    password: 'geheim',
    FIRST: 'literal of 1',
    SECOND: 'literal of 1, $(LATER)',
    LATER: 'x',
    NAME: 'web-0',
    IPS: '10.1.0.7,fd00::7',
    APP: 'web',
    CPU: '2',
    MEMORY: '1024',
    REQUEST: '2',
    KEY: 'geheim',
  });
  assert.deepEqual(
    [command, args],
    [
      ['run', 'web-0'],
      ['literal of 1', '$(NONE)', '10.0.0.9'],
    ],
  );
});

test('what is missing is named as by the kubelet', () => {
  const table: readonly (readonly [container: object, objects: object, message: string])[] = [
    [{ envFrom: [{ configMapRef: { name: 'x' } }] }, {}, 'configmap "x" not found'],
    [{ envFrom: [{ secretRef: { name: 'x' } }] }, {}, 'secret "x" not found'],
    [{ env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'x', key: 'k' } } }] }, {}, 'configmap "x" not found'],
    [
      { env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'x', key: 'k' } } }] },
      { maps: { x: { data: {} } } },
      "couldn't find key k in ConfigMap shop/x",
    ],
    [
      { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'x', key: 'k' } } }] },
      { secrets: { x: { data: {} } } },
      "couldn't find key k in Secret shop/x",
    ],
  ];
  for (const [container, objects, message] of table)
    assert.throws(() => environment(container as Partial<Container>, [], objects), { message });
});
