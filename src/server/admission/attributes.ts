import { internalError, isStatusError } from '../../api/errors.ts';
import type { Kind } from '../../api/kind.ts';
import { apiVersionOf, groupVersionKind } from '../../api/kind.ts';
import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { getOrCompute } from '../../api/maps.ts';
import type { User } from '../../api/user.ts';
import { userInfoOf } from '../access/identity/users.ts';
import { converted } from '../conversion/conversions.ts';
import type { Conversions } from '../conversion/conversions.ts';
import type { Representation } from '../verbs/representation.ts';

/** object → kind → the object as a webhook converted it */
export type ConvertedObjects = WeakMap<ApiObject, Map<Kind, ApiObject>>;

/** A write that is ready to be committed, as webhooks and policies see it: the `attributes` of Kubernetes' admission. */
export interface AdmissionAttributes {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';
  /** In the version of the request. */
  readonly kind: Kind;
  /** The objects in other versions, as a conversion webhook returned them. `prepareReview` fills it. */
  readonly versions?: ConvertedObjects;
  /** The other kinds that serve the same objects; a function, since most writes match no rule. */
  readonly equivalents: () => readonly Kind[];
  readonly subresource: string;
  /** How the subresource represents the object; undefined: as itself. */
  readonly representation?: (Pick<Representation, 'kind' | 'of'> & Partial<Representation>) | undefined;
  /** The new object; undefined for a deletion. */
  readonly object: ApiObject | undefined;
  /** The existing object; undefined for a creation. */
  readonly old: ApiObject | undefined;
  readonly user: User;
  readonly dryRun: boolean;
  /** The CreateOptions, UpdateOptions or DeleteOptions of the request; undefined for CONNECT. */
  readonly options: Readonly<Record<string, unknown>> | undefined;
}

/** What a review can add to the response and to the audit log. */
export interface ReviewOutput {
  readonly warnings: string[];
  readonly annotate: (key: string, value: string) => void;
}

/** The new object, or the existing one of a deletion. */
export const reviewedObject = ({ object, old }: AdmissionAttributes): ApiObject => object ?? old ?? { metadata: {} };

/**
 * Converts the objects of a write to another kind by a webhook, if that is needed to review them. Undefined if not, so that
 * the caller need not await. Throws a 500 if the webhook fails.
 */
export function prepareReview(
  { kind: requested, versions, representation, object, old }: AdmissionAttributes,
  kind: Kind,
  conversions: Pick<Conversions, 'convert'>,
): Promise<unknown> | undefined {
  if (kind === requested || kind.webhookVersions === undefined || representation !== undefined) return undefined;
  return Promise.all(
    [object, old].map(async (each) => {
      if (each === undefined || versions === undefined || versions.get(each)?.has(kind) === true) return;
      const known = getOrCompute(versions, each, () => new Map<Kind, ApiObject>());
      known.set(kind, await conversions.convert(each, requested, kind));
    }),
  );
}

/** As in Kubernetes, a conversion that fails for a webhook is an internal error, whatever its failure policy. */
export function rethrowInternal(error: unknown): never {
  throw isStatusError(error) ? internalError(error.message) : error;
}

/** The name and the namespace of a write; a Namespace is its own namespace. */
export function targetOf(attributes: AdmissionAttributes): { readonly name: string; readonly namespace: string } {
  const { name = '', namespace = '' } = reviewedObject(attributes).metadata;
  return { name, namespace: attributes.kind === namespaceKind ? name : namespace };
}

/** The AdmissionRequest without its UID and its objects. */
export function requestOf(attributes: AdmissionAttributes, kind: Kind): Readonly<Record<string, unknown>> {
  const { operation, subresource, representation, user, dryRun, options } = attributes;
  const { name, namespace } = targetOf(attributes);
  return {
    kind: groupVersionKind(representation?.kind ?? kind),
    resource: resourceOf(kind),
    ...(subresource === '' ? {} : { subResource: subresource }),
    requestKind: groupVersionKind(representation?.kind ?? attributes.kind),
    requestResource: resourceOf(attributes.kind),
    ...(subresource === '' ? {} : { requestSubResource: subresource }),
    ...(name === '' ? {} : { name }),
    ...(namespace === '' ? {} : { namespace }),
    operation,
    userInfo: userInfoOf(user),
    dryRun,
    options: options ?? null,
  };
}

const resourceOf = ({ group, version, plural }: Kind): object => ({ group, version, resource: plural });

/** An object of the write as it is reviewed: in another kind, or as its subresource represents it. */
export function reviewed(
  { kind: requested, representation, versions }: AdmissionAttributes,
  object: ApiObject | undefined,
  kind: Kind,
): ApiObject | undefined {
  if (object === undefined) return undefined;
  const shown = representation?.kind ?? kind;
  const content = representation?.of(object) ?? versions?.get(object)?.get(kind) ?? converted(object, requested, kind);
  const typed: ApiObject = { ...content, kind: shown.kind, apiVersion: apiVersionOf(shown) };
  return typed;
}
