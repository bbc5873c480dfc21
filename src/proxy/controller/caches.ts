import { importKeysOf, serviceKeyOf } from '../../api/kinds/discovery/endpointslice/facts.ts';
import { nodeKind } from '../../api/kinds/core/node/kind.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { serviceImportAlphaKind, serviceImportKind } from '../../api/kinds/multicluster/serviceimport/kind.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import type { ImportedService } from '../../api/kinds/multicluster/supercluster/import.ts';
import { importedServiceKind } from '../../api/kinds/multicluster/supercluster/import.ts';
import { serviceCidrKind } from '../../api/kinds/networking/servicecidr/kind.ts';
import type { ServiceCidr } from '../../api/kinds/networking/servicecidr/schema.ts';
import type { Informer } from '../../client/informer.ts';
import type { Informers } from '../../client/informers.ts';
import type { OptionalInformer } from '../../client/optional-informer.ts';
import { importOwner } from '../routes/import.ts';
import { serviceOwner } from '../routes/service.ts';

/** The informers of all objects that routes depend on. */
export class Caches {
  readonly services: Informer<Service>;
  readonly slices: Informer<EndpointSlice, 'owner'>;
  /** The Node object of this node. */
  readonly nodes: Informer<Node>;
  readonly imported: OptionalInformer<ImportedService>;
  readonly serviceImports: OptionalInformer<ServiceImport>;
  readonly serviceCidrs: OptionalInformer<ServiceCidr>;

  constructor(informers: Informers, nodeName: string) {
    this.services = informers.of(serviceKind);
    this.slices = informers.of(endpointSliceKind, { indexes: { owner: sliceOwners } });
    this.nodes = informers.of(nodeKind, { fieldSelector: `metadata.name=${nodeName}` });
    this.imported = informers.optional([importedServiceKind]);
    this.serviceImports = informers.optional([serviceImportKind, serviceImportAlphaKind]);
    this.serviceCidrs = informers.optional([serviceCidrKind]);
  }
}

/** The owners of a slice as keys of the routing table: a Service or imports. */
export function sliceOwners(slice: EndpointSlice): readonly string[] {
  const service = serviceKeyOf(slice);
  return [...(service === undefined ? [] : [serviceOwner(service)]), ...importKeysOf(slice).map(importOwner)];
}
