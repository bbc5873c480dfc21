import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

import { podKind } from '../../../api/kinds/core/pod/kind.ts';
import type { Pod } from '../../../api/kinds/core/pod/schema.ts';
import { Client } from '../../../client/client.ts';
import type { Transport } from '../../../client/transport.ts';
import { FatalError } from '../../errors.ts';
import { applyManifests } from '../apply.ts';
import type { Manifest } from '../manifests.ts';
import { demoNamespace, demoPodSelector } from './objects.ts';

/** How long Pods may take to be ready. */
const timeoutMs = 30_000;

/** Creates the Pods of the demo; those of an earlier one with other commands are replaced. */
export async function createPods(api: Transport, cluster: string, pods: readonly Manifest[]): Promise<void> {
  const client = new Client(api);
  const { items } = await client.list(podKind, { namespace: demoNamespace, labelSelector: demoPodSelector });
  for (const { metadata, spec, status } of items) {
    const { name = '', uid = '' } = metadata;
    const wanted = pods.find((pod) => pod.name === name);
    const hasEnded = status.phase === 'Failed' || status.phase === 'Succeeded';
    if (
      wanted !== undefined &&
      !hasEnded &&
      isDeepStrictEqual(commandOf(wanted.object as unknown as Pod), commandOf({ spec }))
    )
      continue;
    await client.delete(podKind, { namespace: demoNamespace, name }, { gracePeriodSeconds: 0, preconditions: { uid } });
  }
  await applyManifests(api, cluster, pods);
}

const commandOf = ({ spec }: Pick<Pod, 'spec'>): readonly string[] | undefined => spec.containers?.[0]?.command;

/** Waits until the Pods are ready. Throws a FatalError if a process ends. */
export async function readyPods(api: Transport, pods: readonly Manifest[]): Promise<void> {
  const client = new Client(api);
  const end = performance.now() + timeoutMs;
  for (const { name } of pods) {
    for (let wait = 5; ; wait = Math.min(100, wait * 2)) {
      const { metadata, status } = await client.get(podKind, { namespace: demoNamespace, name });
      if (status.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True')) break;
      const why = endOf(status) ?? (performance.now() > end ? 'it is not ready in time' : undefined);
      if (why !== undefined)
        throw new FatalError(`cannot start Pod "${metadata.name}" of the demo at ${status.podIP}: ${why.trim()}`);
      await delay(wait);
    }
  }
}

/** Why a container has failed now. One that an earlier `up` left has no message. */
function endOf({ containerStatuses = [] }: Pod['status']): string | undefined {
  const [container] = containerStatuses;
  const ended = container?.state.terminated ?? container?.lastState.terminated;
  return ended?.reason === 'Error' && ended.exitCode === 1 ? ended.message : undefined;
}
