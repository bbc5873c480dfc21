import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { Client, Name } from '../../client/client.ts';
import { hasStatusCode } from '../../client/transport.ts';
import { cleanupFinalizer, hasFinalizer } from './needs.ts';
import type { Wanted } from './status.ts';
import { statusPatch } from './status.ts';

/** Everything that the controller writes to a Service, each a patch that is right whatever else changed meanwhile. */
export class ServiceWrites {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Comes before the first request to a cloud: from then on the Service stays until nothing is left there. */
  async addFinalizer(service: Service, signal: AbortSignal): Promise<Service> {
    if (hasFinalizer(service)) return service;
    const body = { metadata: { uid: service.metadata.uid, finalizers: [cleanupFinalizer] } };
    return this.#client.patch(serviceKind, nameOf(service), { body, type: 'strategic', signal });
  }

  /** Undefined when the Service went with it. */
  async removeFinalizer(service: Service, signal: AbortSignal): Promise<void> {
    if (!hasFinalizer(service)) return;
    const body = {
      metadata: { uid: service.metadata.uid, '$deleteFromPrimitiveList/finalizers': [cleanupFinalizer] },
    };
    await unlessGone(this.#client.patch(serviceKind, nameOf(service), { body, type: 'strategic', signal }));
  }

  /** Writes the status if it differs; one whose Service is gone is nobody's loss. */
  async setStatus(service: Service, wanted: Wanted, signal: AbortSignal): Promise<void> {
    const body = statusPatch(service, wanted);
    if (body === undefined) return;
    const options = { body, type: 'strategic', subresource: 'status', signal } as const;
    await unlessGone(this.#client.patch(serviceKind, nameOf(service), options));
  }
}

const nameOf = ({ metadata: { namespace, name = '' } }: Service): Name => ({ namespace, name });

async function unlessGone(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!hasStatusCode(error, 404)) throw error;
  }
}
