import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { ignoreNotFound } from '../../api/errors.ts';
import type { Client } from '../../client/client.ts';
import { nameOf } from '../../client/key.ts';
import { cleanupFinalizer, hasFinalizer } from './needs.ts';
import type { Desired } from './status.ts';
import { statusPatch } from './status.ts';

/** The writes of the controller to a Service: patches, so that they do not conflict with other changes. */
export class ServiceWrites {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Called before the first request to a cloud, so that the Service exists until its load balancer is deleted. */
  async addFinalizer(service: Service, signal: AbortSignal): Promise<Service> {
    if (hasFinalizer(service)) return service;
    const body = { metadata: { uid: service.metadata.uid, finalizers: [cleanupFinalizer] } };
    return this.#client.patch(serviceKind, nameOf(service), { body, type: 'strategic', signal });
  }

  async removeFinalizer(service: Service, signal: AbortSignal): Promise<void> {
    if (!hasFinalizer(service)) return;
    const body = {
      metadata: { uid: service.metadata.uid, '$deleteFromPrimitiveList/finalizers': [cleanupFinalizer] },
    };
    await ignoreNotFound(this.#client.patch(serviceKind, nameOf(service), { body, type: 'strategic', signal }));
  }

  /** Writes the status if it differs. Ignores a deleted Service. */
  async setStatus(service: Service, desired: Desired, signal: AbortSignal): Promise<void> {
    const body = statusPatch(service, desired);
    if (body === undefined) return;
    const options = { body, type: 'strategic', subresource: 'status', signal } as const;
    await ignoreNotFound(this.#client.patch(serviceKind, nameOf(service), options));
  }
}
