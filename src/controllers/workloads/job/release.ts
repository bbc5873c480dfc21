import { podKind } from '../../../api/kinds/core/pod/kind.ts';
import type { Pod } from '../../../api/kinds/core/pod/schema.ts';
import type { Client } from '../../../client/client.ts';
import { nameOf } from '../../../client/key.ts';
import { hasStatusCode } from '../../../client/transport.ts';
import { trackingFinalizer } from './count.ts';

/** Removes the finalizer of a Pod. */
export async function release(client: Client, pod: Pod, signal: AbortSignal): Promise<void> {
  const body = { metadata: { uid: pod.metadata.uid, '$deleteFromPrimitiveList/finalizers': [trackingFinalizer] } };
  try {
    await client.patch(podKind, nameOf(pod), { body, type: 'strategic', signal, metadataOnly: true });
  } catch (error) {
    if (!hasStatusCode(error, 404) && !hasStatusCode(error, 409)) throw error; // deleted, or another Pod by now
  }
}
