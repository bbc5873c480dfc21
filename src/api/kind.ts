import { subdomainName } from './names.ts';
import type { ApiObject } from './metadata.ts';
import type { FieldError } from './field-errors.ts';
import type { GateName, Gates } from './gates.ts';
import type { QuotaEvaluator } from './quota.ts';
import type { StructSchema } from './schema/schema.ts';
import type { User } from './user.ts';

/** The context of a write for the functions of a kind. They are pure: no clock, no store. */
export interface WriteContext {
  readonly gates: Gates;
  /** CIDRs of loopback addresses that endpoints may use; set only by `fairlead up` with its default ranges. */
  readonly loopbackEndpoints: readonly string[];
  /** CIDRs of addresses that this server or controllers allocate: cluster IPs, and IPs of imports if configured. */
  readonly allocatedRanges?: readonly string[];
  /** The user who writes, for kinds that record it; absent for the server itself. */
  readonly user?: User;
  /** The time of the write in RFC 3339. */
  readonly now?: string;
}

/** A column of `kubectl get`. Priority 1 is shown with `-o wide` only. */
export interface Column<T extends ApiObject = ApiObject> {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'date' | 'boolean' | 'number';
  readonly format: string;
  readonly description: string;
  readonly priority: number;
  /** The same value as a JSONPath, for definitions of custom resources; undefined: there is none. */
  readonly path?: string;
  /** The text of the cell; `now` is in milliseconds, for ages. */
  cell(object: T, now: number): string | number | boolean | null;
}

/** Reads one field as text. Declared as a method, so that a `Kind<Pod>` is also a `Kind`. */
export type FieldValue<T extends ApiObject> = { of(object: T): string }['of'];

/** A condition of a table row, such as `Completed` for a Pod. */
export interface RowCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** An endpoint below an object, such as `serviceaccounts/token`. */
export interface Subresource {
  readonly name: string;
  readonly verbs: readonly ('create' | 'delete' | 'get' | 'patch' | 'update')[];
  /** The kind of its request and response bodies, where that is not the object's own. */
  readonly body?: Kind;
  /** The kind that discovery names where bodies are those of a program, which the server only passes on. */
  readonly connect?: string;
  /** How a write changes the object; absent for `status`, and where the body is not the object. */
  readonly write?: PartialWrite;
}

/** A write of a part of an object. Its functions are methods, so that those of one kind fit all. */
export interface PartialWrite<T extends ApiObject = ApiObject> {
  /** A change of the spec does not increment the generation. */
  readonly keepsGeneration?: true;
  /** The object to store: `old` with what the subresource may change of `sent`. */
  prepare(sent: T, old: T, context: WriteContext): T;
  /** Errors in the result, except in its metadata. */
  validate(object: T, old: T, context: WriteContext): readonly FieldError[];
}

/** Paths of fields. */
export type FieldPaths = readonly (readonly string[])[];

/** The paths of the desired and of the observed number of replicas. */
export interface ScalePaths {
  readonly desired: readonly string[];
  readonly observed: readonly string[];
}

/** How objects of a kind are deleted, where that differs from removing them once they have no finalizers. */
export interface DeletionStrategy<T extends ApiObject = ApiObject> {
  /** Names of objects that cannot be deleted. */
  readonly protectedNames?: readonly string[];
  /** The reason in the error about such a name; default: `this namespace may not be deleted`. */
  readonly protection?: string;
  /** Kinds whose object of the same namespace and name is deleted in the same commit. */
  readonly cascadesTo?: readonly Kind[];
  /** Without a propagation policy, dependents are orphaned. */
  readonly orphansByDefault?: true;
  /** When a namespace is deleted, other content stays until no object of the kind remains (KEP-5080). */
  readonly isFirstInNamespace?: true;
  /** Finalizers outside metadata. */
  finalizers?(object: T): readonly string[];
  /** Graceful deletion: the seconds the object may take to shut down, where the client requested so many; 0: none. */
  gracePeriodSeconds?(object: T, requested: number | undefined): number;
  /** The object as it is stored while it waits for finalizers or its grace period; the deletion timestamp is set. */
  markTerminating?(object: T): T;
}

/**
 * A kind in one version, defined once in its folder under `kinds/`. Discovery, OpenAPI, decoding, tables, patches, apply,
 * validation and deletion derive from it.
 */
export interface Kind<T extends ApiObject = ApiObject> {
  /** '' for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  /** The kind of lists; default: the kind with `List`. */
  readonly listKind?: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  readonly schema: StructSchema;
  readonly verbs: readonly Verb[];
  /** False for kinds without stored objects, such as access reviews: they have only `create`. */
  readonly stored: boolean;
  /** The kind is served only where this gate is enabled. */
  readonly gate?: GateName;
  /** There is a `status` subresource, and writes of the object itself ignore `status`. */
  readonly hasStatus: boolean;
  /** Behaves as a custom resource: no strategic merge patch, no update without a resource version, kind in list items. */
  readonly custom: boolean;
  /** There is no protobuf encoding, because fields have another form there. */
  readonly jsonOnly?: true;
  /** Finalizers need no domain; so it is for custom resources. */
  readonly plainFinalizers: boolean;
  readonly generation: GenerationRule;
  readonly createOnUpdate: boolean;
  readonly unconditionalUpdate: boolean;
  /** Objects are deleted this long after their last write. */
  readonly ttlSeconds?: number;
  /** The response body of a completed DELETE. */
  readonly deleteReturns: 'object' | 'status';
  readonly columns: readonly Column<T>[];
  /** Fields for field selectors besides metadata.name and metadata.namespace: path → value. */
  readonly selectableFields: Readonly<Record<string, FieldValue<T>>>;
  /** The label selector of its Pods as text, of kinds with a `scale` subresource. */
  readonly scaleSelector?: FieldValue<T>;
  /** Where the replicas are that the `scale` subresource changes and shows; default: `spec` and `status.replicas`. */
  readonly scalePaths?: ScalePaths;
  /** Endpoints below an object besides `status`. */
  readonly subresources: readonly Subresource[];
  /**
   * The fields that a write through a subresource ('' is the object itself) never changes, so that its writer does not own
   * them. Default: the status, and for the subresource `status` the spec.
   */
  readonly resets: Readonly<Record<string, FieldPaths>>;
  readonly deletion: DeletionStrategy<T>;
  /** What the server allocates for objects, in the transaction that writes them. */
  readonly allocates: 'nothing' | 'clusterIpsAndNodePorts';
  /** Objects contain credentials: audit events never contain them. */
  readonly sensitive: boolean;
  /** What objects use of a ResourceQuota; undefined: one object of the kind. `none`: quotas do not count them. */
  readonly quota?: QuotaEvaluator<T> | 'none';
  /** Objects are stored in another version. */
  readonly storage?: Conversion<T>;
  /** version → kind, for all versions between which a webhook converts; `storage` then only has the kind that stores. */
  readonly webhookVersions?: ReadonlyMap<string, Kind>;
  /**
   * Reads a stored object, which may be of another version and may not fit the schema any more: a custom resource, whose
   * schema changes at run time, or a CustomResourceDefinition of a kube-apiserver.
   */
  readonly readStored?: (value: unknown) => T;
  /** The definition that a custom resource was made from, as text: equal kinds have equal texts. */
  readonly source?: () => string;
  /** A warning in every response for this kind. */
  readonly deprecation?: string;
  /** What does not happen to objects of a kind that no part of this project acts on: a warning on creation, and an Event. */
  readonly withoutController?: string;

  /** Sets defaults, on create and update. */
  applyDefaults(object: T): T;
  /** Drops what clients cannot set on create: status, and fields whose gate is disabled. */
  prepareForCreate(object: T, context: WriteContext): T;
  /** The same on update; fields that `old` uses are kept. The status was already replaced with that of `old`. */
  prepareForUpdate(object: T, old: T, context: WriteContext): T;
  /** The same on update of the status; all but status and metadata was already replaced with that of `old`. */
  prepareForStatusUpdate(object: T, old: T, context: WriteContext): T;
  /** Errors of the name of a new object, worded as in Kubernetes. `isPrefix`: `name` is a generateName. */
  nameErrors(name: string, isPrefix: boolean, context: WriteContext): readonly string[];
  /** Errors in a new object, except in its metadata. */
  validateCreate(object: T, context: WriteContext): readonly FieldError[];
  /** Errors in a changed object, except in its metadata. */
  validateUpdate(object: T, old: T, context: WriteContext): readonly FieldError[];
  /** Errors in a changed status. */
  validateStatus(object: T, old: T, context: WriteContext): readonly FieldError[];
  /** `Warning` headers of a successful write. */
  warnings(object: T, old: T | undefined, context: WriteContext): readonly string[];
  /** `Warning` headers of a successful write of the status. */
  statusWarnings(object: T): readonly string[];
  /** Conditions of the object's row in a table. */
  rowConditions(object: T): readonly RowCondition[];
}

export type Verb = 'create' | 'delete' | 'deletecollection' | 'get' | 'list' | 'patch' | 'update' | 'watch';

/** The changes that increment `metadata.generation`: none, of the spec, of all but metadata, or also of labels. */
export type GenerationRule = 'none' | 'spec' | 'content' | 'contentAndLabels';

/** Converts between this version and the storage version. Both functions keep metadata unchanged. */
export interface Conversion<T extends ApiObject = ApiObject> {
  readonly kind: Kind;
  toStorage(object: T): ApiObject;
  fromStorage(object: ApiObject): T;
}

const allVerbs: readonly Verb[] = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

type KindDefinition<T extends ApiObject> = Partial<Kind<T>> &
  Pick<Kind<T>, 'group' | 'version' | 'kind' | 'plural' | 'namespaced' | 'schema'>;

/** Defines a kind, with defaults for the rest: names are DNS subdomains, and all verbs are supported. */
export function defineKind<T extends ApiObject>(given: KindDefinition<T>): Kind<T> {
  return {
    singular: given.kind.toLowerCase(),
    shortNames: [],
    categories: [],
    verbs: given.stored === false ? ['create'] : allVerbs,
    stored: true,
    hasStatus: false,
    custom: false,
    plainFinalizers: given.custom === true,
    generation: 'none',
    createOnUpdate: false,
    unconditionalUpdate: true,
    deleteReturns: 'status',
    columns: [],
    selectableFields: {},
    subresources: [],
    resets: {},
    deletion: {},
    allocates: 'nothing',
    sensitive: false,
    applyDefaults: (object) => object,
    prepareForCreate: (object) => object,
    prepareForUpdate: (object) => object,
    prepareForStatusUpdate: (object) => object,
    nameErrors: subdomainName,
    validateCreate: () => [],
    validateUpdate: () => [],
    validateStatus: () => [],
    warnings: () => [],
    statusWarnings: () => [],
    rowConditions: () => [],
    ...given,
  };
}

/** The type of an object, as discovery and OpenAPI documents write it. */
export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export const groupVersionKind = ({ group, version, kind }: GroupVersionKind): GroupVersionKind => ({
  group,
  version,
  kind,
});

/** The apiVersion: `v1` or `apps/v1`. */
export const apiVersionOf = ({ group, version }: Pick<Kind, 'group' | 'version'>): string =>
  group === '' ? version : `${group}/${version}`;

/** The warning about a kind that no part of this project acts on; undefined: a part does. */
export const noControllerWarning = ({
  kind,
  withoutController,
}: Pick<Kind, 'kind' | 'withoutController'>): string | undefined =>
  withoutController && `Fairlead stores the ${kind} and has no controller for it: ${withoutController}`;

/** The conversion between two versions of a kind that have the same fields. */
export const identityConversion = <T extends ApiObject>(kind: Kind<T>): Conversion<T> => ({
  kind,
  toStorage: withoutVersion,
  // Stored objects were decoded with the schema of their kind.
  fromStorage: (object) => withoutVersion(object as T),
});

// The server sets the version of stored objects and responses.
function withoutVersion<T extends ApiObject>(object: T): T {
  const { apiVersion: _apiVersion, kind: _kind, ...rest } = object;
  return rest as T; // both are optional in every kind
}
