import type { Pod } from '../../src/api/kinds/core/pod/schema.ts';
import { podKind } from '../../src/api/kinds/core/pod/kind.ts';
import type { Service } from '../../src/api/kinds/core/service/schema.ts';
import { serviceKind } from '../../src/api/kinds/core/service/kind.ts';
import type { Client } from '../../src/client/client.ts';

const namespace = 'default';

/** Creates a Service that selects Pods with `app` of its name. */
export async function createService(client: Client, name: string): Promise<void> {
  const spec = { selector: { app: name }, ports: [{ port: 80 }] };
  // A cast because the server sets the other fields.
  await client.create(serviceKind, { metadata: { namespace, name }, spec } as unknown as Service);
}

/** Creates a ready Pod with `app` and an address. */
export async function createReadyPod(client: Client, app: string, name: string, podIP: string): Promise<void> {
  const spec = { containers: [{ name: 'c', image: 'example.org/c' }] };
  const metadata = { namespace, name, labels: { app } };
  const made = await client.create(podKind, { metadata, spec } as unknown as Pod); // as above
  const conditions = [{ type: 'Ready', status: 'True' }];
  const status = { phase: 'Running', podIP, podIPs: [{ ip: podIP }], conditions };
  await client.updateStatus(podKind, { ...made, status } as unknown as Pod); // as above
}
