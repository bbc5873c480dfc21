import { nodeKind } from '../../api/kinds/core/node/kind.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import { serviceNameLabel } from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { serviceImportAlphaKind, serviceImportKind } from '../../api/kinds/multicluster/serviceimport/kind.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import type { ImportedService } from '../../api/kinds/multicluster/supercluster/import.ts';
import { importedServiceKind } from '../../api/kinds/multicluster/supercluster/import.ts';
import { serviceCidrKind } from '../../api/kinds/networking/servicecidr/kind.ts';
import type { ServiceCidr } from '../../api/kinds/networking/servicecidr/schema.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { importNameLabel, seedImportNameLabel } from '../../api/kinds/multicluster/labels.ts';
import type { Client } from '../../client/client.ts';
import { Informer } from '../../client/informer.ts';
import { keyFor } from '../../client/key.ts';
import { OptionalInformer } from '../../client/optional-informer.ts';
import { importOwner } from '../routes/import.ts';
import { serviceOwner } from '../routes/service.ts';

/** The objects that routes are made of. */
export class Caches {
  readonly services: Informer<Service>;
  readonly slices: Informer<EndpointSlice, 'owner'>;
  /** This node, if there is such an object. */
  readonly nodes: Informer<Node>;
  readonly imported: OptionalInformer<ImportedService>;
  readonly serviceImports: OptionalInformer<ServiceImport>;
  readonly serviceCidrs: OptionalInformer<ServiceCidr>;

  constructor(client: Client, nodeName: string, onError: (error: unknown) => void) {
    this.services = new Informer<Service>(client, serviceKind, { trim: withoutManagedFields, onError });
    this.slices = new Informer<EndpointSlice, 'owner'>(client, endpointSliceKind, {
      trim: withoutManagedFields,
      indexes: { owner: sliceOwners },
      onError,
    });
    this.nodes = new Informer<Node>(client, nodeKind, {
      fieldSelector: `metadata.name=${nodeName}`,
      trim: withoutManagedFields,
      onError,
    });
    const optional = { trim: withoutManagedFields, onError };
    this.imported = new OptionalInformer<ImportedService>(client, [importedServiceKind], optional);
    this.serviceImports = new OptionalInformer<ServiceImport>(
      client,
      [serviceImportKind, serviceImportAlphaKind],
      optional,
    );
    this.serviceCidrs = new OptionalInformer<ServiceCidr>(client, [serviceCidrKind], optional);
  }

  /** Fills them until the signal fires. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#all().map((cache) => cache.run(signal)));
  }

  /** Resolves when everything there is has been seen: a part of it is nothing to act upon. Rejects on the signal. */
  async synced(signal: AbortSignal): Promise<void> {
    await Promise.all([
      ...[this.services, this.slices, this.nodes].map((cache) => cache.synced(signal)),
      ...[this.imported, this.serviceImports, this.serviceCidrs].map((cache) => cache.settled(signal)),
    ]);
  }

  /** What is not complete yet, by name. */
  get missing(): readonly string[] {
    const named = { Services: this.services, EndpointSlices: this.slices, Nodes: this.nodes };
    return Object.entries(named).flatMap(([name, cache]) => (cache.hasSynced ? [] : [name]));
  }

  #all(): readonly { run(signal: AbortSignal): Promise<void> }[] {
    return [this.services, this.slices, this.nodes, this.imported, this.serviceImports, this.serviceCidrs];
  }
}

/** Whose a slice is, as the routing table calls its owners: a Service's or an import's. */
export function sliceOwners({ metadata: { namespace, labels = {} } }: EndpointSlice): readonly string[] {
  const service = labels[serviceNameLabel];
  const imports = new Set([labels[importNameLabel], labels[seedImportNameLabel]].filter((name) => name !== undefined));
  return [
    ...(service === undefined ? [] : [serviceOwner(keyFor({ namespace, name: service }))]),
    ...Array.from(imports, (name) => importOwner(keyFor({ namespace, name }))),
  ];
}

/** An object without what only servers need to know about who wrote it. */
function withoutManagedFields<T extends ApiObject>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
