// Claims of all objects, computed again only for what has changed.
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import { importKeysOf, serviceKeyOf } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { publicationAnnotation } from '../../api/kinds/multicluster/publication.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { publicationOf } from './annotations.ts';
import type { Claim, Surroundings } from './claim.ts';
import { claimOfImport, claimOfService } from './claim.ts';

/** The objects that are published, and what their targets depend on. */
export interface Objects {
  readonly services: readonly Service[];
  /** Imports of either API. */
  readonly imports: readonly ApiObject[];
  /** The slices of a Service or import; see `sliceOwnersOf`. */
  readonly slicesOf: (owner: string) => readonly EndpointSlice[];
  readonly nodes: readonly Node[];
}

/** The index of slices for `slicesOf`: `service/NS/NAME` and `import/NS/NAME`. */
export function sliceOwnersOf(slice: EndpointSlice): readonly string[] {
  const service = serviceKeyOf(slice);
  const imports = importKeysOf(slice).map((key) => `import/${key}`);
  return service === undefined ? imports : [`service/${service}`, ...imports];
}

/** Whether an object asks to be published. */
export const isPublished = ({ metadata: { annotations } }: ApiObject): boolean =>
  annotations !== undefined &&
  (annotations[publicationAnnotation] !== undefined || publicationOf(annotations) !== undefined);

interface Known {
  readonly object: ApiObject;
  readonly slices: readonly EndpointSlice[];
  readonly nodes: readonly Node[];
  readonly claim: Claim | undefined;
}

/** Remembers claims by the identity of the objects that they were computed from. */
export class ClaimCache {
  readonly #ttl: number;
  /** `service/NS/NAME` or `import/NS/NAME` → its claim. */
  #known = new Map<string, Known>();

  constructor(ttl: number) {
    this.#ttl = ttl;
  }

  /** The claims of all objects. */
  claims({ services, imports, slicesOf, nodes }: Objects): readonly Claim[] {
    const known = new Map<string, Known>();
    const claims: Claim[] = [];
    const merged = new Set<string>();
    const add = <T extends ApiObject>(
      kind: 'import' | 'service',
      object: T,
      claimOf: (object: T, around: Surroundings) => Claim | undefined,
    ): Claim | undefined => {
      const owner = `${kind}/${object.metadata.namespace ?? ''}/${object.metadata.name ?? ''}`;
      const slices = slicesOf(owner);
      const last = this.#known.get(owner);
      const isSame = last?.object === object && last.nodes === nodes && isSameList(last.slices, slices);
      const claim = isSame ? last.claim : claimOf(object, { slices, nodes, ttl: this.#ttl });
      known.set(owner, { object, slices, nodes, claim });
      if (claim !== undefined) claims.push(claim);
      return claim;
    };
    for (const each of imports) {
      const { namespace = '', name = '' } = each.metadata;
      // An import of both APIs is one service.
      if (merged.has(`${namespace}/${name}`)) continue;
      if (add('import', each, claimOfImport) !== undefined) merged.add(`${namespace}/${name}`);
    }
    for (const each of services) {
      const { namespace = '', name = '' } = each.metadata;
      // The import has the targets of this Service too.
      if (each.metadata.annotations !== undefined && !merged.has(`${namespace}/${name}`))
        add('service', each, claimOfService);
    }
    this.#known = known;
    return claims;
  }
}

const isSameList = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((each, index) => each === b[index]);
