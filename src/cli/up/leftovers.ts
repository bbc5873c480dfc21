import { validatingWebhookConfigurationKind } from '../../api/kinds/admissionregistration/validatingwebhookconfiguration/kind.ts';
import type { ContainerStatus } from '../../api/kinds/core/pod/schema.ts';
import { podKind } from '../../api/kinds/core/pod/kind.ts';
import { timestamp } from '../../api/timestamp.ts';
import { Client } from '../../client/client.ts';
import type { Transport } from '../../client/transport.ts';
import { isOurs } from '../../multicluster/project/labels.ts';
import { configurationName } from '../../multicluster/webhook/configuration.ts';

/**
 * Removes what an earlier `up` left in the store of a cluster: the webhook of its multi-cluster controller, whose port may
 * be another program's by now, and the readiness of Pods of this machine, whose processes ended with it.
 */
export async function deleteLeftovers(
  cluster: string,
  nodeName: string,
  connect: (cluster: string) => Transport,
): Promise<void> {
  const transport = connect(cluster);
  using client = new Client(transport);
  const webhook = await client.find(validatingWebhookConfigurationKind, { name: configurationName });
  const isLocal = webhook?.webhooks?.every(({ clientConfig }) => clientConfig.url?.startsWith('https://127.0.0.1:'));
  if (webhook !== undefined && isOurs(webhook) && isLocal === true)
    await client.delete(validatingWebhookConfigurationKind, { name: configurationName });
  const { items: pods } = await client.list(podKind, { fieldSelector: `spec.nodeName=${nodeName}` });
  const now = timestamp(Date.now());
  const why = { reason: 'ContainersNotReady', message: 'the process has ended', lastTransitionTime: now };
  const conditions = ['Ready', 'ContainersReady'].map((type) => ({ type, status: 'False', ...why }));
  for (const { metadata, status } of pods) {
    const { namespace, name = '' } = metadata;
    const { containerStatuses = [] } = status;
    if (!containerStatuses.some(runsByAgent)) continue; // ended, or reported by somebody else
    const body = { status: { conditions, containerStatuses: containerStatuses.map((each) => lost(each, now)) } };
    await client.patch(podKind, { namespace, name }, { body, type: 'strategic', subresource: 'status' });
  }
}

const runsByAgent = ({ state, containerID = '' }: ContainerStatus): boolean =>
  state.running !== undefined && containerID.startsWith('process://');

/** The status of a process that nobody can find any more, as of the kubelet. */
function lost(status: ContainerStatus, now: string): ContainerStatus {
  const { running } = status.state;
  if (running === undefined) return status;
  const { containerID = '' } = status;
  const terminated = { exitCode: 137, reason: 'ContainerStatusUnknown', finishedAt: now, containerID, ...running };
  return { ...status, ready: false, started: false, state: { terminated } };
}
