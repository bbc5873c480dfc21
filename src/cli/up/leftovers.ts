import { validatingWebhookConfigurationKind } from '../../api/kinds/admissionregistration/validatingwebhookconfiguration/kind.ts';
import { podKind } from '../../api/kinds/core/pod/kind.ts';
import { Client } from '../../client/client.ts';
import type { Transport } from '../../client/transport.ts';
import { isOurs } from '../../multicluster/project/labels.ts';
import { configurationName } from '../../multicluster/webhook/configuration.ts';
import { demoNamespace, demoPodSelector, endedStatus } from './demo/objects.ts';
import { writeStatus } from './demo/pods.ts';

/**
 * Removes what an earlier `up` left in the store of a cluster: the webhook of its multi-cluster controller, whose port may
 * be another program's by now, and the readiness of demo Pods, whose processes ended with it.
 */
export async function deleteLeftovers(cluster: string, connect: (cluster: string) => Transport): Promise<void> {
  const transport = connect(cluster);
  using client = new Client(transport);
  const webhook = await client.find(validatingWebhookConfigurationKind, { name: configurationName });
  const isLocal = webhook?.webhooks?.every(({ clientConfig }) => clientConfig.url?.startsWith('https://127.0.0.1:'));
  if (webhook !== undefined && isOurs(webhook) && isLocal === true)
    await client.delete(validatingWebhookConfigurationKind, { name: configurationName });
  const { items: pods } = await client.list(podKind, { namespace: demoNamespace, labelSelector: demoPodSelector });
  for (const { metadata } of pods) await writeStatus(transport, metadata.name ?? '', endedStatus);
}
