import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cells, created, createErrors, plainContext, updateErrors } from '../../testing/validation.ts';
import { horizontalPodAutoscalerKind as kind } from './kind.ts';

const scaleTargetRef = { kind: 'Deployment', name: 'web', apiVersion: 'apps/v1' };
const half = { type: 'Utilization', averageUtilization: 50 };
const onCpu = { type: 'Resource', resource: { name: 'cpu', target: half } };
const spec = (more: object = {}): object => ({ spec: { scaleTargetRef, maxReplicas: 3, ...more } });

test('defaults to one Pod, 80 % of CPU, and complete rules for both directions if there are any', () => {
  const { minReplicas, metrics, behavior } = created(
    kind,
    spec({ behavior: { scaleUp: { selectPolicy: 'Min' } } }),
  ).spec;
  assert.deepEqual(
    [minReplicas, metrics],
    [1, [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } }]],
  );
  const double = { type: 'Percent', value: 100, periodSeconds: 15 };
  assert.deepEqual(behavior, {
    scaleUp: {
      stabilizationWindowSeconds: 0,
      selectPolicy: 'Min',
      policies: [{ type: 'Pods', value: 4, periodSeconds: 15 }, double],
    },
    scaleDown: { selectPolicy: 'Max', policies: [double] },
  });
});

const oneSource = 'must populate the given metric source only';
const noSource = 'must populate information for the given metric source';
const types = '"ContainerResource", "External", "Object", "Pods", "Resource"';
const table: readonly { name: string; given: object; want: readonly string[] }[] = [
  { name: 'accepts a Deployment', given: {}, want: [] },
  {
    name: 'accepts a ReplicationController without a group',
    given: { scaleTargetRef: { kind: 'ReplicationController', name: 'web', apiVersion: 'v1' } },
    want: [],
  },
  {
    name: 'rejects other targets without a group',
    given: { scaleTargetRef: { kind: 'Deployment', name: 'web', apiVersion: 'v1' } },
    want: ['spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group'],
  },
  {
    name: 'rejects contradictory limits',
    given: { minReplicas: 4 },
    want: ['spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`'],
  },
  {
    name: 'rejects zero Pods',
    given: { minReplicas: 0 },
    want: [
      'spec.minReplicas: Invalid value: 0: must be greater than or equal to 1',
      'spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas',
    ],
  },
  {
    name: 'rejects an unknown type of metric',
    given: { metrics: [{ type: 'Disk' }] },
    want: [
      `spec.metrics[0].type: Unsupported value: "Disk": supported values: ${types}`,
      `spec.metrics[0].type: Unsupported value: "Disk": supported values: ${types}`,
    ],
  },
  {
    name: 'rejects a metric without its source, and with the source of another type',
    given: {
      metrics: [
        { type: 'Pods', resource: onCpu.resource, external: undefined },
        { ...onCpu, type: 'Resource' },
      ],
    },
    want: [`spec.metrics[0].pods: Required value: ${noSource}`],
  },
  {
    name: 'rejects two sources',
    given: {
      metrics: [
        { ...onCpu, pods: { metric: { name: 'queries' }, target: { type: 'AverageValue', averageValue: '10' } } },
      ],
    },
    want: [`spec.metrics[0].pods: Forbidden: ${oneSource}`],
  },
  {
    name: 'rejects a resource that containers do not have',
    given: {
      metrics: [{ type: 'ContainerResource', containerResource: { name: 'disk', container: 'a', target: half } }],
    },
    want: [
      'spec.metrics[0].containerResource.name: Invalid value: "disk": must be a standard resource type or fully qualified',
      'spec.metrics[0].containerResource.name: Invalid value: "disk": must be a standard resource for containers',
    ],
  },
  {
    name: 'rejects two targets of an external metric, and amounts that are not positive',
    given: {
      metrics: [
        {
          type: 'External',
          external: { metric: { name: 'queue' }, target: { type: 'Value', value: '0', averageValue: '1' } },
        },
      ],
    },
    want: [
      'spec.metrics[0].external.target.value: Invalid value: "0": must be positive',
      'spec.metrics[0].external.target.value: Forbidden: may not set both a target value for metric and a per-pod target',
    ],
  },
  {
    name: 'rejects invalid rules',
    given: {
      behavior: {
        scaleUp: { stabilizationWindowSeconds: 3601, selectPolicy: 'Mean', tolerance: '-1' },
        scaleDown: { policies: [{ type: 'Nodes', value: 0, periodSeconds: 1801 }] },
      },
    },
    want: [
      'spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600',
      'spec.behavior.scaleUp.selectPolicy: Unsupported value: "Mean": supported values: "Disabled", "Max", "Min"',
      'spec.behavior.scaleUp.tolerance: Invalid value: "-1": must be greater than or equal to 0',
      'spec.behavior.scaleDown.policies[0].type: Unsupported value: "Nodes": supported values: "Percent", "Pods"',
      'spec.behavior.scaleDown.policies[0].value: Invalid value: 0: must be greater than zero',
      'spec.behavior.scaleDown.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800',
    ],
  },
];
for (const { name, given, want } of table) {
  test(name, () => assert.deepEqual(createErrors(kind, spec(given)), want));
}

test('an update keeps a target with an invalid version', () => {
  const invalid = spec({ scaleTargetRef: { ...scaleTargetRef, apiVersion: 'v1' } });
  assert.deepEqual(updateErrors(kind, invalid, invalid), []);
  assert.equal(updateErrors(kind, spec(), invalid).length, 1);
});

test('rejects a status with negative counts', () => {
  const old = created(kind, spec());
  const errors = kind.validateStatus({ ...old, status: { ...old.status, desiredReplicas: -1 } }, old, plainContext);
  assert.deepEqual(
    errors.map(({ path }) => path),
    ['status.desiredReplicas'],
  );
});

test('the row of an autoscaler', () => {
  const queries = { metric: { name: 'queries' }, target: { type: 'AverageValue', averageValue: '10' } };
  const queue = { metric: { name: 'queue' }, target: { type: 'Value', value: '5' } };
  const metrics = [onCpu, { type: 'Pods', pods: queries }, { type: 'External', external: queue }];
  const status = {
    currentReplicas: 2,
    desiredReplicas: 2,
    currentMetrics: [{ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 7 } } }],
  };
  assert.deepEqual(cells(kind, { ...spec({ metrics }), status }), [
    'a',
    'Deployment/web',
    'cpu: 7%/50%, <unknown>/10 + 1 more...',
    '1',
    3,
    2,
    '<unknown>',
  ]);
});

test('an empty list of policies is rejected, and an absent one defaulted', () => {
  const errorsWith = (scaleDown: object): readonly string[] => createErrors(kind, spec({ behavior: { scaleDown } }));
  assert.deepEqual(errorsWith({ policies: [] }), [
    'spec.behavior.scaleDown.policies: Required value: must specify at least one Policy',
  ]);
  assert.deepEqual(errorsWith({ selectPolicy: 'Max' }), []);
});
