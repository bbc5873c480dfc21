import assert from 'node:assert/strict';
import { test } from 'node:test';

import { horizontalPodAutoscalerKind } from '../../../api/kinds/autoscaling/horizontalpodautoscaler/kind.ts';
import { eventKind } from '../../../api/kinds/core/event/kind.ts';
import { persistentVolumeClaimKind } from '../../../api/kinds/core/persistentvolumeclaim/kind.ts';
import { kinds } from '../../../api/kinds/registry.ts';
import { until } from '../../../server/testing/until.ts';
import { namespace, startWorkloads } from '../testing/workloads.ts';
import { storedKinds } from './controller.ts';

test('every kind without a controller is among those that get an Event', () => {
  const without = kinds.filter(({ withoutController }) => withoutController !== undefined);
  assert.deepEqual(new Set(storedKinds), new Set(without));
});

test('an Event names the consequence for each new object that nothing acts on', async () => {
  await using workloads = await startWorkloads();
  const { user } = workloads;
  const metadata = { namespace, name: 'web' };
  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
  // Casts because the server sets the other fields.
  await user.create(horizontalPodAutoscalerKind, { metadata, spec: { maxReplicas: 2, scaleTargetRef } } as never);
  const resources = { requests: { storage: '1Gi' } };
  await user.create(persistentVolumeClaimKind, {
    metadata,
    spec: { accessModes: ['ReadWriteOnce'], resources },
  } as never);
  const events = await until('both Events', async () => {
    const { items } = await user.list(eventKind, { namespace, fieldSelector: 'reason=NoController' });
    return items.length >= 2 ? items : undefined;
  });
  const byKind = new Map(events.map(({ involvedObject, type, message }) => [involvedObject.kind, [type, message]]));
  assert.deepEqual(Object.fromEntries(byKind), {
    HorizontalPodAutoscaler: [
      'Warning',
      'Fairlead stores the HorizontalPodAutoscaler and has no controller for it: the number of Pods does not change',
    ],
    PersistentVolumeClaim: [
      'Warning',
      'Fairlead stores the PersistentVolumeClaim and has no controller for it: no volume is provisioned or bound',
    ],
  });
});
