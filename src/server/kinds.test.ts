import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { testServer } from './testing/server.ts';

const inDefault = (group: string, plural: string): string =>
  `${group === 'v1' ? '/api/v1' : `/apis/${group}`}/namespaces/default/${plural}`;
const container = { name: 'c', image: 'i' };
const workload = (more: object): object => ({
  spec: {
    selector: { matchLabels: { a: 'b' } },
    template: { metadata: { labels: { a: 'b' } }, spec: { containers: [container] } },
    ...more,
  },
});
const pods = inDefault('v1', 'pods');

// Replies of kube-apiserver 1.35 that are not obvious.
suite('validation errors of kinds', () => {
  const unknownOperator = { selector: { matchExpressions: [{ key: 'a', operator: 'X' }] } };
  const table: readonly (readonly [url: string, body: object, message: string])[] = [
    [
      inDefault('apps/v1', 'deployments'),
      workload(unknownOperator),
      'Deployment.apps "a" is invalid: [spec.selector.matchExpressions[0].operator: Invalid value: "X": not a valid selector operator, spec.selector: Invalid value: {"matchExpressions":[{"key":"a","operator":"X"}]}: invalid label selector]',
    ],
    [
      inDefault('apps/v1', 'deployments'),
      workload({ strategy: { type: 'X' } }),
      'Deployment.apps "a" is invalid: spec.strategy: Unsupported value: {"Type":"X","RollingUpdate":null}: supported values: "Recreate", "RollingUpdate"',
    ],
    [
      inDefault('apps/v1', 'statefulsets'),
      workload({ updateStrategy: { type: 'X' } }),
      'StatefulSet.apps "a" is invalid: spec.updateStrategy: Invalid value: {"Type":"X","RollingUpdate":null}: must be \'RollingUpdate\' or \'OnDelete\'',
    ],
    [
      pods,
      { spec: { containers: [{ ...container, image: ' i' }] } },
      'Pod "a" is invalid: spec.containers[0].image: Invalid value: " i": must not have leading or trailing whitespace',
    ],
    [
      pods,
      { spec: { containers: [container], ephemeralContainers: [{ name: 'e', image: 'i' }] } },
      'Pod "a" is invalid: spec.ephemeralContainers: Forbidden: cannot be set on create',
    ],
    [
      '/api/v1/nodes',
      { spec: { podCIDRs: ['x'] } },
      'Node "a" is invalid: spec.podCIDRs[0]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
    ],
    [
      '/api/v1/nodes',
      { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }, { key: 'a', effect: 'NoSchedule' }, { key: 'b' }] } },
      'Node "a" is invalid: [metadata.taints[1]: Duplicate value: {"Key":"a","Value":"","Effect":"NoSchedule","TimeAdded":null}: taints must be unique by key and effect pair, metadata.taints[2].effect: Required value]',
    ],
    [
      inDefault('events.k8s.io/v1', 'events'),
      { regarding: { namespace: 'default' } },
      'Event "a" is invalid: [eventTime: Required value, type: Invalid value: "": has invalid value: ]',
    ],
    [
      inDefault('coordination.k8s.io/v1', 'leases'),
      { spec: { renewTime: '2020-01-01T00:00:00Z' } },
      'Lease in version "v1" cannot be handled as a Lease: parsing time "2020-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"',
    ],
  ];
  for (const [url, body, message] of table) {
    test(message, async () => {
      await using server = await testServer();
      const answer = await server.ask('POST', url, { body: { metadata: { name: 'a' }, ...body } });
      assert.equal(answer.body.message, message);
    });
  }
});

suite('warnings of kinds', () => {
  const table: readonly (readonly [url: string, body: object, warning: string])[] = [
    [
      inDefault('apps/v1', 'deployments'),
      { metadata: { name: 'a.b' }, ...workload({}) },
      'metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]',
    ],
    [
      inDefault('apps/v1', 'statefulsets'),
      { metadata: { name: 'a' }, ...workload({ revisionHistoryLimit: -1 }) },
      'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended',
    ],
  ];
  for (const [url, body, warning] of table) {
    test(warning, async () => {
      await using server = await testServer();
      const { warnings } = await server.ask('POST', url, { body });
      assert.ok(warnings.includes(`299 - ${JSON.stringify(warning)}`), warnings.join());
    });
  }

  test('a kind that nothing acts on warns on creation only', async () => {
    await using server = await testServer();
    const url = inDefault('networking.k8s.io/v1', 'networkpolicies');
    const { warnings } = await server.ask('POST', url, {
      body: { metadata: { name: 'a' }, spec: { podSelector: {} } },
    });
    assert.deepEqual(warnings, [
      '299 - "Fairlead stores the NetworkPolicy and has no controller for it: connections are not restricted"',
    ]);
    const patch = { type: 'application/merge-patch+json', body: { spec: { policyTypes: ['Ingress'] } } };
    assert.deepEqual((await server.ask('PATCH', `${url}/a`, patch)).warnings, []);
  });

  test('warns about the format of an address in the status of an Ingress', async () => {
    await using server = await testServer();
    const url = inDefault('networking.k8s.io/v1', 'ingresses');
    const spec = { defaultBackend: { service: { name: 's', port: { number: 80 } } } };
    await server.ask('POST', url, { body: { metadata: { name: 'a' }, spec } });
    const { warnings } = await server.ask('PATCH', `${url}/a/status`, {
      type: 'application/merge-patch+json',
      body: { status: { loadBalancer: { ingress: [{ ip: '01.2.3.4' }] } } },
    });
    assert.match(warnings[0] ?? '', /status\.loadBalancer\.ingress\[0\]: non-standard IP address/);
  });
});

suite('deletion of kinds', () => {
  const url = inDefault('batch/v1', 'jobs');
  const template = { spec: { containers: [container], restartPolicy: 'Never' } };
  const rows: readonly (readonly [options: object, finalizers: readonly string[] | undefined])[] = [
    [{}, ['orphan']],
    [{ propagationPolicy: 'Background' }, undefined],
    [{ propagationPolicy: 'Foreground' }, ['foregroundDeletion']],
  ];
  for (const [options, finalizers] of rows) {
    test(`of a Job with ${JSON.stringify(options)}`, async () => {
      await using server = await testServer();
      await server.ask('POST', url, { body: { metadata: { name: 'a' }, spec: { template } } });
      const { body } = await server.ask('DELETE', `${url}/a`, { body: options });
      assert.deepEqual(body.metadata?.finalizers, finalizers);
    });
  }

  test('system priority classes cannot be deleted', async () => {
    await using server = await testServer();
    const { body } = await server.ask('DELETE', '/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical');
    assert.equal(
      body.message,
      'priorityclasses.scheduling.k8s.io "system-node-critical" is forbidden: this is a system priority class and cannot be deleted',
    );
  });
});

suite('returned objects of kinds', () => {
  test('EndpointSlices have null for empty lists', async () => {
    await using server = await testServer();
    const { body } = await server.ask('POST', inDefault('discovery.k8s.io/v1', 'endpointslices'), {
      body: { metadata: { name: 'a' }, addressType: 'IPv4', endpoints: [], ports: [] },
    });
    assert.deepEqual([body.endpoints, body.ports], [null, null]);
  });

  test('claim templates of a StatefulSet have their kind', async () => {
    await using server = await testServer();
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
    const claim = { metadata: { name: 'v' }, spec };
    const { body } = await server.ask('POST', inDefault('apps/v1', 'statefulsets'), {
      body: { metadata: { name: 'a' }, ...workload({ volumeClaimTemplates: [claim] }) },
    });
    const { kind, apiVersion } = body.spec.volumeClaimTemplates[0];
    assert.deepEqual([kind, apiVersion], ['PersistentVolumeClaim', 'v1']);
  });

  test('a Pod that is deleted immediately has its deletion timestamp', async () => {
    await using server = await testServer();
    await server.ask('POST', pods, { body: { metadata: { name: 'a' }, spec: { containers: [container] } } });
    const { body } = await server.ask('DELETE', `${pods}/a`);
    const { deletionGracePeriodSeconds, deletionTimestamp, generation } = body.metadata;
    assert.deepEqual([deletionGracePeriodSeconds, typeof deletionTimestamp, generation], [0, 'string', 2]);
  });

  test('a terminating Namespace has no grace period', async () => {
    await using server = await testServer();
    await server.ask('POST', '/api/v1/namespaces', { body: { metadata: { name: 'going' } } });
    const { body } = await server.ask('DELETE', '/api/v1/namespaces/going');
    assert.equal(typeof body.metadata.deletionTimestamp, 'string');
    assert.equal(body.metadata.deletionGracePeriodSeconds, undefined);
  });

  test('an Event may have any name', async () => {
    await using server = await testServer();
    const body = { metadata: { name: 'Pod_A' }, involvedObject: { namespace: 'default' } };
    assert.equal((await server.ask('POST', inDefault('v1', 'events'), { body })).status, 201);
  });
});
