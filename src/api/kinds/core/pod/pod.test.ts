import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WriteContext } from '../../../kind.ts';
import { decode } from '../../../schema/decode.ts';
import { decodeProtobuf, encodeProtobuf } from '../../../schema/protobuf.ts';
import { podKind } from './kind.ts';
import type { Pod } from './schema.ts';
import { pod as podSchema } from './schema.ts';

const context: WriteContext = { gates: { enabled: () => false }, loopbackEndpoints: [] };
const made = (fields: object): Pod =>
  podKind.applyDefaults(decode<Pod>(podSchema, { metadata: { name: 'web', namespace: 'shop' }, ...fields }).object);
const simple = { spec: { containers: [{ name: 'web', image: 'web:1' }] } };

const realistic = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'web-0',
    namespace: 'shop',
    labels: { app: 'web' },
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', uid: 'u', controller: true }],
  },
  spec: {
    volumes: [
      { name: 'data', persistentVolumeClaim: { claimName: 'data-web-0' } },
      { name: 'conf', configMap: { name: 'conf', items: [{ key: 'a', path: 'b' }], defaultMode: 420 } },
      {
        name: 'token',
        projected: {
          sources: [
            { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
            {
              downwardAPI: { items: [{ path: 'ns', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }] },
            },
          ],
          defaultMode: 420,
        },
      },
    ],
    containers: [
      {
        name: 'web',
        image: 'registry.example.org:5000/web@sha256:0',
        args: ['--port', '8080'],
        ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }],
        env: [
          { name: 'A', value: 'b' },
          { name: 'KEY', valueFrom: { secretKeyRef: { name: 's', key: 'k', optional: false } } },
          { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '0' } } },
        ],
        resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '500m' } },
        volumeMounts: [{ name: 'data', mountPath: '/data' }],
        readinessProbe: { httpGet: { path: '/', port: 'http', scheme: 'HTTP' }, periodSeconds: 10 },
        lifecycle: { preStop: { exec: { command: ['sleep', '5'] } } },
        securityContext: { runAsNonRoot: true, capabilities: { drop: ['ALL'] } },
      },
    ],
    ephemeralContainers: [{ name: 'debug', image: 'busybox', resources: {}, targetContainerName: 'web' }],
    nodeSelector: { 'kubernetes.io/os': 'linux' },
    nodeName: 'node-1',
    securityContext: {},
    affinity: {
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 1, podAffinityTerm: { labelSelector: { matchLabels: { app: 'web' } }, topologyKey: 'zone' } },
        ],
      },
    },
    tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 0 }],
    hostname: 'web-0',
    subdomain: 'web',
  },
  status: {
    phase: 'Running',
    conditions: [{ type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: '2026-01-01T00:00:00Z' }],
    podIP: '10.0.0.1',
    podIPs: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }],
    startTime: '2026-01-01T00:00:00Z',
    containerStatuses: [
      {
        name: 'web',
        state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
        lastState: {},
        ready: true,
        restartCount: 0,
        image: 'web',
        imageID: 'sha256:0',
        started: true,
      },
    ],
  },
};

test('decoding a realistic Pod does not change it', () => {
  assert.deepEqual(decode(podSchema, realistic), { object: realistic, unknown: [] });
});

test('protobuf preserves a realistic Pod', () => {
  const { kind: _kind, apiVersion: _apiVersion, ...rest } = realistic;
  assert.deepEqual(decodeProtobuf(podSchema, encodeProtobuf(podSchema, rest)), rest);
});

test('reports a misspelt field', () => {
  const { unknown } = decode(podSchema, { spec: { containers: [{ name: 'a', imge: 'b' }], colour: 'red' } });
  assert.deepEqual(unknown, ['unknown field "spec.containers[0].imge"', 'unknown field "spec.colour"']);
});

test('sets the defaults of a Pod', () => {
  assert.deepEqual(made(simple).spec, {
    containers: [
      {
        name: 'web',
        image: 'web:1',
        resources: {},
        imagePullPolicy: 'IfNotPresent',
        terminationMessagePath: '/dev/termination-log',
        terminationMessagePolicy: 'File',
      },
    ],
    enableServiceLinks: true,
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    securityContext: {},
    schedulerName: 'default-scheduler',
  });
});

test('defaulting is idempotent', () => {
  const { object } = decode<Pod>(podSchema, realistic);
  const once = podKind.applyDefaults(object);
  assert.deepEqual(podKind.applyDefaults(once), once);
});

const images = [
  ['web', 'Always'],
  ['web:latest', 'Always'],
  ['web:1', 'IfNotPresent'],
  ['host.example.org:5000/web', 'Always'],
  ['host.example.org:5000/web:1', 'IfNotPresent'],
  ['web@sha256:00', 'IfNotPresent'],
] as const;
for (const [image, want] of images) {
  test(`the pull policy of image ${image} is ${want}`, () => {
    assert.equal(made({ spec: { containers: [{ name: 'a', image }] } }).spec.containers?.[0]?.imagePullPolicy, want);
  });
}

test('sets the defaults of ports, probes, volumes, accounts and requests', () => {
  const { spec } = made({
    spec: {
      serviceAccountName: 'robot',
      hostNetwork: true,
      volumes: [{ name: 'a' }, { name: 'b', secret: { secretName: 's' } }],
      containers: [
        {
          name: 'web',
          image: 'web:1',
          ports: [{ containerPort: 80 }],
          resources: { limits: { cpu: '1' } },
          livenessProbe: { httpGet: { port: 80 } },
        },
      ],
    },
  });
  const [container] = spec.containers ?? [];
  assert.equal(spec.serviceAccount, 'robot');
  assert.deepEqual(spec.volumes, [
    { name: 'a', emptyDir: {} },
    { name: 'b', secret: { secretName: 's', defaultMode: 420 } },
  ]);
  assert.deepEqual(container?.ports, [{ containerPort: 80, protocol: 'TCP', hostPort: 80 }]);
  assert.deepEqual(container?.resources, { limits: { cpu: '1' }, requests: { cpu: '1' } });
  assert.deepEqual(container?.livenessProbe, {
    httpGet: { port: 80, path: '/', scheme: 'HTTP' },
    timeoutSeconds: 1,
    periodSeconds: 10,
    successThreshold: 1,
    failureThreshold: 3,
  });
});

const addresses: readonly { name: string; status: object; podIP?: string; podIPs?: readonly { ip: string }[] }[] = [
  { name: 'none', status: {} },
  { name: 'podIP only', status: { podIP: '10.0.0.1' }, podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }] },
  {
    name: 'podIPs only',
    status: { podIPs: [{ ip: '10.0.0.1' }] },
    podIP: '10.0.0.1',
    podIPs: [{ ip: '10.0.0.1' }],
  },
  {
    name: 'podIP and podIPs that differ',
    status: { podIP: '10.0.0.2', podIPs: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }] },
    podIP: '10.0.0.2',
    podIPs: [{ ip: '10.0.0.2' }],
  },
];
for (const { name, status, podIP, podIPs } of addresses) {
  test(`addresses: ${name}`, () => {
    const { status: got } = made({ ...simple, status });
    assert.equal(got.podIP, podIP);
    assert.deepEqual(got.podIPs, podIPs);
  });
}

test('a new Pod has phase Pending, whatever status it has in the request', () => {
  const claimed = made({ ...simple, status: { phase: 'Running', podIP: '10.0.0.1' } });
  assert.deepEqual(podKind.prepareForCreate(claimed, context).status, { phase: 'Pending', qosClass: 'BestEffort' });
});

test('a new Pod with scheduling gates reports that it is not scheduled', () => {
  const gated = made({ spec: { ...simple.spec, schedulingGates: [{ name: 'example.org/wait' }] } });
  const [condition, ...others] = podKind.prepareForCreate(gated, context).status.conditions ?? [];
  assert.deepEqual(
    [condition?.type, condition?.status, condition?.reason],
    ['PodScheduled', 'False', 'SchedulingGated'],
  );
  assert.deepEqual(others, []);
  assert.equal(podKind.prepareForCreate(made(simple), context).status.conditions, undefined);
});
