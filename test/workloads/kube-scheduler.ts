// What kube-scheduler needs to run on our server, which has no kinds for devices and storage drivers.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { customResourceDefinitionKind } from '../../src/api/kinds/apiextensions/customresourcedefinition/kind.ts';
import type { Client } from '../../src/client/client.ts';
import { until } from '../../src/server/testing/until.ts';

const kinds = [
  { group: 'storage.k8s.io', kind: 'CSINode', plural: 'csinodes', scope: 'Cluster' },
  { group: 'resource.k8s.io', kind: 'ResourceClaim', plural: 'resourceclaims', scope: 'Namespaced' },
  { group: 'resource.k8s.io', kind: 'ResourceSlice', plural: 'resourceslices', scope: 'Cluster' },
  { group: 'resource.k8s.io', kind: 'DeviceClass', plural: 'deviceclasses', scope: 'Cluster' },
];

/** Defines the kinds that it always watches, as custom resources. */
export async function defineDeviceKinds(client: Client): Promise<void> {
  for (const { group, kind, plural, scope } of kinds) {
    const definition = {
      metadata: { name: `${plural}.${group}`, annotations: { 'api-approved.kubernetes.io': 'unapproved, for tests' } },
      spec: {
        group,
        scope,
        names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          },
        ],
      },
    };
    await client.create(customResourceDefinitionKind, definition as never); // the server sets the other fields
    await until(`${plural} are served`, () =>
      client.read(`/apis/${group}/v1/${plural}`).then(
        () => true,
        () => false,
      ),
    );
  }
}

/** Plugins that watch kinds which our server does not have. */
const disabled = ['NodeVolumeLimits', 'VolumeBinding', 'VolumeZone', 'VolumeRestrictions', 'DynamicResources'];

/** Writes the configuration file of kube-scheduler. */
export async function schedulerConfig(directory: string, kubeconfig: string): Promise<string> {
  const file = join(directory, 'kube-scheduler.json');
  const configuration = {
    apiVersion: 'kubescheduler.config.k8s.io/v1',
    kind: 'KubeSchedulerConfiguration',
    leaderElection: { leaderElect: false },
    clientConnection: {
      kubeconfig,
      qps: 100_000,
      burst: 100_000,
      // Custom resources have no protobuf.
      acceptContentTypes: 'application/vnd.kubernetes.protobuf,application/json',
    },
    profiles: [
      {
        schedulerName: 'default-scheduler',
        plugins: { multiPoint: { disabled: disabled.map((name) => ({ name })) } },
      },
    ],
  };
  await writeFile(file, JSON.stringify(configuration));
  return file;
}
