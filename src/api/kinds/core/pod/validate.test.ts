import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WriteContext } from '../../../kind.ts';
import { decode } from '../../../schema/decode.ts';
import { podKind } from './kind.ts';
import type { Pod } from './schema.ts';
import { pod as podSchema } from './schema.ts';

const context: WriteContext = { gates: { enabled: () => false }, loopbackEndpoints: [] };
const made = (spec: object): Pod =>
  podKind.applyDefaults(decode<Pod>(podSchema, { metadata: { name: 'web', namespace: 'shop' }, spec }).object);
const web = { name: 'web', image: 'web:1' };
const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

const creations: readonly { name: string; spec: object; want: readonly string[] }[] = [
  { name: 'one container', spec: { containers: [web] }, want: [] },
  { name: 'no containers', spec: {}, want: ['spec.containers: Required value'] },
  {
    name: 'a container without name and image',
    spec: { containers: [{}] },
    want: ['spec.containers[0].name: Required value', 'spec.containers[0].image: Required value'],
  },
  {
    name: 'a container with an invalid name',
    spec: { containers: [{ ...web, name: 'Web' }] },
    want: [`spec.containers[0].name: Invalid value: "Web": ${label}`],
  },
  {
    name: 'a container and an init container with the same name',
    spec: { containers: [web], initContainers: [web] },
    want: ['spec.initContainers[0].name: Duplicate value: "web"'],
  },
  {
    name: 'requests above the limit, and amounts that are not allowed',
    spec: {
      containers: [
        {
          ...web,
          resources: {
            limits: { cpu: '100m', 'example.org/gpu': '2' },
            requests: { cpu: '200m', memory: '-1', 'example.org/gpu': '1', pods: '1' },
          },
        },
      ],
    },
    want: [
      'spec.containers[0].resources.requests: Invalid value: "200m": must be less than or equal to cpu limit of 100m',
      'spec.containers[0].resources.requests: Invalid value: "1": must be equal to example.org/gpu limit of 2',
      'spec.containers[0].resources.requests[memory]: Invalid value: "-1": must be greater than or equal to 0',
      'spec.containers[0].resources.requests[pods]: Invalid value: "pods": must be a standard resource for containers',
    ],
  },
  {
    name: 'huge pages without cpu, memory and a limit',
    spec: { containers: [{ ...web, resources: { requests: { 'hugepages-2Mi': '2Mi' } } }] },
    want: [
      'spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources',
      'spec.containers[0].resources: Forbidden: HugePages require cpu or memory',
    ],
  },
  {
    name: 'probes of init containers, except sidecars',
    spec: {
      containers: [web],
      initContainers: [
        { ...web, name: 'a', livenessProbe: { exec: { command: ['true'] } } },
        { ...web, name: 'b', livenessProbe: { exec: { command: ['true'] } }, restartPolicy: 'Always' },
      ],
    },
    want: [
      'spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always',
    ],
  },
  {
    name: 'invalid ports',
    spec: { containers: [{ ...web, ports: [{ containerPort: 0 }, { containerPort: 70000, protocol: 'X' }] }] },
    want: [
      'spec.containers[0].ports[0].containerPort: Required value',
      'spec.containers[0].ports[1].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive',
      'spec.containers[0].ports[1].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"',
    ],
  },
  {
    name: 'two ports with the same name',
    spec: {
      containers: [
        {
          ...web,
          ports: [
            { name: 'a', containerPort: 1 },
            { name: 'a', containerPort: 2 },
          ],
        },
      ],
    },
    want: ['spec.containers[0].ports[1].name: Duplicate value: "a"'],
  },
  {
    name: 'a mount without its volume',
    spec: { containers: [{ ...web, volumeMounts: [{ name: 'data', mountPath: '/data' }] }] },
    want: ['spec.containers[0].volumeMounts[0].name: Not found: "data"'],
  },
  {
    name: 'unknown values',
    spec: { containers: [{ ...web, imagePullPolicy: 'Often' }], restartPolicy: 'Maybe', dnsPolicy: 'Mine' },
    want: [
      'spec.containers[0].imagePullPolicy: Unsupported value: "Often": supported values: "Always", "IfNotPresent", "Never"',
      'spec.restartPolicy: Unsupported value: "Maybe": supported values: "Always", "OnFailure", "Never"',
      'spec.dnsPolicy: Unsupported value: "Mine": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"',
    ],
  },
  {
    name: 'a probe without handler, and one with two',
    spec: {
      containers: [
        {
          ...web,
          livenessProbe: { successThreshold: 2 },
          readinessProbe: { tcpSocket: { port: 80 }, exec: { command: ['true'] } },
        },
      ],
    },
    want: [
      'spec.containers[0].livenessProbe: Required value: must specify a handler type',
      'spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1',
      'spec.containers[0].readinessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type',
    ],
  },
  {
    name: 'a volume with two sources',
    spec: { containers: [web], volumes: [{ name: 'v', emptyDir: {}, hostPath: { path: '/' } }] },
    want: ['spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type'],
  },
  {
    name: 'an invalid hostname',
    spec: { containers: [web], hostname: 'a.b', subdomain: 'ok' },
    want: ['spec.hostname: Invalid value: "a.b": must not contain dots'],
  },
];
for (const { name, spec, want } of creations) {
  test(`create: ${name}`, () => {
    assert.deepEqual(
      podKind.validateCreate(made(spec), context).map(({ path, body }) => `${path}: ${body}`),
      want,
    );
  });
}

const before = { containers: [web], activeDeadlineSeconds: 10, tolerations: [{ key: 'a', operator: 'Exists' }] };
const other =
  'spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';
const updates: readonly { name: string; spec: object; want: readonly string[] }[] = [
  { name: 'nothing', spec: before, want: [] },
  {
    name: 'an image, a deadline and an added toleration',
    spec: {
      ...before,
      containers: [{ ...web, image: 'web:2', imagePullPolicy: 'IfNotPresent' }],
      activeDeadlineSeconds: 5,
      tolerations: [...before.tolerations, { key: 'b', operator: 'Exists' }],
    },
    want: [],
  },
  { name: 'the node', spec: { ...before, nodeName: 'n2' }, want: [other] },
  { name: 'a variable', spec: { ...before, containers: [{ ...web, env: [{ name: 'A' }] }] }, want: [other] },
  {
    name: 'another container',
    spec: { ...before, containers: [web, { name: 'b', image: 'b:1' }] },
    want: ['spec.containers: Forbidden: pod updates may not add or remove containers'],
  },
  {
    name: 'a later deadline',
    spec: { ...before, activeDeadlineSeconds: 11 },
    want: ['spec.activeDeadlineSeconds: Invalid value: 11: must be less than or equal to previous value'],
  },
];
for (const { name, spec, want } of updates) {
  test(`update: ${name}`, () => {
    assert.deepEqual(
      podKind.validateUpdate(made(spec), made(before), context).map(({ path, body }) => `${path}: ${body}`),
      want,
    );
  });
}

test('warns on create about a name that is not a DNS label', () => {
  const dotted = { ...made(before), metadata: { name: 'a.b' } };
  const [warning] = podKind.warnings(dotted, undefined, context);
  assert.match(warning ?? '', /^metadata\.name: this is used in the Pod's hostname/);
  assert.deepEqual(podKind.warnings(dotted, dotted, context), []);
});
