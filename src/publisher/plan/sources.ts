// The claims under one name of the cluster.
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { importKeysOf, serviceKeyOf } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { publicationAnnotation } from '../../api/kinds/multicluster/publication.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { publicationOf } from './annotations.ts';
import type { Claim, Surroundings } from './claim.ts';
import { claimOfImport } from './import-claim.ts';
import { claimOfService } from './service-claim.ts';

/** The objects with one namespace and name. */
export interface Named {
  readonly service: Service | undefined;
  /** Imports of either API, which are one service. */
  readonly imports: readonly ApiObject[];
}

/** The index of slices: `service/NS/NAME` and `import/NS/NAME`. */
export function sliceOwnersOf(slice: EndpointSlice): readonly string[] {
  const service = serviceKeyOf(slice);
  const imports = importKeysOf(slice).map((key) => `import/${key}`);
  return service === undefined ? imports : [`service/${service}`, ...imports];
}

/** Whether an object has a claim. */
export const isPublished = ({ metadata: { annotations } }: ApiObject): boolean =>
  annotations !== undefined &&
  (annotations[publicationAnnotation] !== undefined || publicationOf(annotations) !== undefined);

/** The claim of an import with a public name, which has the targets of the Service too, else that of the Service. */
export function claimOf(
  { service, imports }: Named,
  around: (kind: 'service' | 'import') => Surroundings,
): Claim | undefined {
  for (const each of imports) {
    const claim = claimOfImport(each, around('import'));
    if (claim !== undefined) return claim;
  }
  return service && claimOfService(service, around('service'));
}
