import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

import { deploymentKind } from '../../../api/kinds/apps/deployment/kind.ts';
import type { Deployment } from '../../../api/kinds/apps/deployment/schema.ts';
import { podKind } from '../../../api/kinds/core/pod/kind.ts';
import type { Pod } from '../../../api/kinds/core/pod/schema.ts';
import { Client } from '../../../client/client.ts';
import type { Transport } from '../../../client/transport.ts';
import { FatalError } from '../../errors.ts';
import type { Manifest } from '../manifests.ts';
import { demoNamespace, demoPodSelector } from './objects.ts';

/** How long Pods may take to be ready. */
const timeoutMs = 30_000;

/** Deletes the Pods of demos before the Deployment: no controller owns them. */
export async function removeSinglePods(api: Transport): Promise<void> {
  const client = new Client(api);
  for (const { metadata } of await podsOf(client)) {
    const { name = '', uid = '', ownerReferences = [] } = metadata;
    if (ownerReferences.length > 0) continue;
    await client.delete(podKind, { namespace: demoNamespace, name }, { gracePeriodSeconds: 0, preconditions: { uid } });
  }
}

/** Waits until all Pods of the Deployment are ready and replace earlier ones. Throws a FatalError if a process ends. */
export async function readyPods(api: Transport, { name, object }: Manifest): Promise<void> {
  const client = new Client(api);
  // A cast: the manifest is a Deployment.
  const wanted = commandOf((object as unknown as Deployment).spec.template);
  const end = performance.now() + timeoutMs;
  for (let wait = 5; ; wait = Math.min(100, wait * 2)) {
    const deployment = await client.get(deploymentKind, { namespace: demoNamespace, name });
    const pods = (await podsOf(client)).filter((pod) => isDeepStrictEqual(commandOf(pod), wanted));
    // The status of the Deployment may be that of an earlier `up`, whose processes have ended.
    const ready = pods.filter(({ status }) => isReady(status)).length;
    if (isRolledOut(deployment) && ready === deployment.spec.replicas) return;
    const isLate = performance.now() > end;
    for (const { metadata, status } of pods) {
      const why = endOf(status) ?? (isLate && !isReady(status) ? 'it is not ready in time' : undefined);
      if (why !== undefined)
        throw new FatalError(`cannot start Pod "${metadata.name}" of the demo at ${status.podIP}: ${why.trim()}`);
    }
    if (isLate) throw new FatalError(`cannot start the demo: ${ready} Pods of Deployment "${name}" are ready in time`);
    await delay(wait);
  }
}

const podsOf = async (client: Client): Promise<readonly Pod[]> =>
  (await client.list(podKind, { namespace: demoNamespace, labelSelector: demoPodSelector })).items;

const commandOf = ({ spec }: Pick<Pod, 'spec'>): readonly string[] | undefined => spec.containers?.[0]?.command;

const isRolledOut = ({ metadata, spec, status }: Deployment): boolean =>
  status.observedGeneration === metadata.generation &&
  [status.replicas, status.updatedReplicas, status.availableReplicas].every((count) => count === spec.replicas);

const isReady = ({ conditions = [] }: Pod['status']): boolean =>
  conditions.some(({ type, status }) => type === 'Ready' && status === 'True');

/** Why a container has failed now. One that an earlier `up` left has no message. */
function endOf({ containerStatuses = [] }: Pod['status']): string | undefined {
  const [container] = containerStatuses;
  const ended = container?.state.terminated ?? container?.lastState.terminated;
  return ended?.reason === 'Error' && ended.exitCode === 1 ? ended.message : undefined;
}
