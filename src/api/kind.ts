import type { FieldError } from './field-errors.ts';
import type { Gates } from './gates.ts';
import type { ApiObject } from './metadata.ts';
import type { QuotaEvaluator } from './quota.ts';
import type { StructSchema } from './schema/schema.ts';

/** What the functions of a kind may know beside the object itself. They are pure: no clock, no store. */
export interface WriteContext {
  readonly gates: Gates;
  /** CIDRs of loopback addresses that endpoints may use after all; only `fairlead up` on its default ranges sets any. */
  readonly loopbackEndpoints: readonly string[];
  /** CIDRs of addresses that only controllers and this server hand out: cluster IPs, and imports where they are known. */
  readonly allocatedRanges?: readonly string[];
}

/** A column of `kubectl get`. Priority 1 is shown with `-o wide` only. */
export interface Column<T extends ApiObject = ApiObject> {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'date' | 'boolean' | 'number';
  readonly format: string;
  readonly description: string;
  readonly priority: number;
  /** The text of the cell; `now` is in milliseconds, for ages. */
  cell(object: T, now: number): string | number;
}

/** Reads one field as text. Declared as a method, so that a `Kind<Pod>` is also a `Kind`. */
export type FieldValue<T extends ApiObject> = { of(object: T): string }['of'];

/** A row condition of a table, such as a Pod that is completed. */
export interface RowCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** An endpoint below an object, such as `serviceaccounts/token`. */
export interface Subresource {
  readonly name: string;
  readonly verbs: readonly ('create' | 'get' | 'patch' | 'update')[];
  /** The kind of its request and response bodies, where that is not the object's own. */
  readonly body?: Kind;
}

/** How objects of a kind are deleted, where that differs from removing them once they have no finalizers. */
export interface DeletionStrategy<T extends ApiObject = ApiObject> {
  /** Names of objects that cannot be deleted. */
  readonly protectedNames?: readonly string[];
  /** Kinds whose object of the same namespace and name is deleted in the same commit. */
  readonly cascadesTo?: readonly Kind[];
  /** Finalizers outside metadata. */
  finalizers?(object: T): readonly string[];
  /** Graceful deletion: the seconds the object may take to shut down, where the client requested so many; 0: none. */
  gracePeriodSeconds?(object: T, requested: number | undefined): number;
  /** The object as it is stored while it waits for finalizers or its grace period; the deletion timestamp is set. */
  markTerminating?(object: T): T;
}

/**
 * A kind in one version: everything the server knows about it. Written once in its folder under `kinds/`; discovery,
 * OpenAPI, decoding, tables, patches, apply and validation follow from it.
 */
export interface Kind<T extends ApiObject = ApiObject> {
  /** '' for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  readonly schema: StructSchema;
  readonly verbs: readonly Verb[];
  /** False: a question that is answered on the spot, such as an access review. It has `create` and no objects. */
  readonly stored: boolean;
  /** `status` has its own endpoint, and the main one leaves it alone. */
  readonly hasStatus: boolean;
  /** As a custom resource in Kubernetes: no strategic merge, no update without a revision, kind in list items. */
  readonly custom: boolean;
  readonly generation: GenerationRule;
  readonly createOnUpdate: boolean;
  readonly unconditionalUpdate: boolean;
  /** What a completed DELETE answers with. */
  readonly deleteReturns: 'object' | 'status';
  readonly columns: readonly Column<T>[];
  /** Selectable fields beside metadata.name and metadata.namespace: path → value. */
  readonly selectableFields: Readonly<Record<string, FieldValue<T>>>;
  /** Endpoints below an object besides `status`. */
  readonly subresources: readonly Subresource[];
  readonly deletion: DeletionStrategy<T>;
  /** What the server allocates for objects, in the transaction that writes them. */
  readonly allocates: 'nothing' | 'clusterIpsAndNodePorts';
  /** Objects contain credentials: audit events never contain them. */
  readonly sensitive: boolean;
  /** What objects use of a ResourceQuota; undefined: one object of the kind. `none`: quotas do not count them. */
  readonly quota?: QuotaEvaluator<T> | 'none';
  /** This version is a view of another, in which objects are stored. */
  readonly storage?: Conversion<T>;
  /** A warning that every request for this kind gets. */
  readonly deprecation?: string;

  /** Fills in what the author left out. Runs on create and update; knows nothing but the object. */
  applyDefaults(object: T): T;
  /** Clears what a client may not set on create: status, fields whose gate is off. */
  prepareForCreate(object: T, context: WriteContext): T;
  /** The same for an update, where what `old` already uses is kept. Status is already `old`'s. */
  prepareForUpdate(object: T, old: T, context: WriteContext): T;
  /** Names of new objects: what is wrong with `name`, in Kubernetes' words. `isPrefix`: a generateName. */
  nameErrors(name: string, isPrefix: boolean, context: WriteContext): readonly string[];
  /** Everything wrong with a new object beyond its metadata. */
  validateCreate(object: T, context: WriteContext): readonly FieldError[];
  /** Everything wrong with a changed object beyond its metadata. */
  validateUpdate(object: T, old: T, context: WriteContext): readonly FieldError[];
  /** Everything wrong with a changed status. */
  validateStatus(object: T, old: T, context: WriteContext): readonly FieldError[];
  /** Texts of `Warning` headers for a write that goes through. */
  warnings(object: T, old: T | undefined, context: WriteContext): readonly string[];
  /** The same for a write of the status. */
  statusWarnings(object: T): readonly string[];
  /** Conditions of an object's row in a table. */
  rowConditions(object: T): readonly RowCondition[];
}

export type Verb = 'create' | 'delete' | 'deletecollection' | 'get' | 'list' | 'patch' | 'update' | 'watch';

/** When `metadata.generation` rises: never (`none`), with the spec, or with anything outside metadata. */
export type GenerationRule = 'none' | 'spec' | 'content' | 'contentAndLabels';

/** How a version is kept as another. Both functions keep metadata as it is. */
export interface Conversion<T extends ApiObject = ApiObject> {
  readonly kind: Kind;
  toStorage(object: T): ApiObject;
  fromStorage(object: ApiObject): T;
}

const allVerbs: readonly Verb[] = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

type Given<T extends ApiObject> = Partial<Kind<T>> &
  Pick<Kind<T>, 'group' | 'version' | 'kind' | 'plural' | 'namespaced' | 'schema' | 'nameErrors'>;

/** A kind, with the defaults that most kinds share. Columns default to Name and Age. */
export function defineKind<T extends ApiObject>(given: Given<T>): Kind<T> {
  return {
    singular: given.kind.toLowerCase(),
    shortNames: [],
    categories: [],
    verbs: allVerbs,
    stored: true,
    hasStatus: false,
    custom: false,
    generation: 'none',
    createOnUpdate: false,
    unconditionalUpdate: true,
    deleteReturns: 'status',
    columns: [],
    selectableFields: {},
    subresources: [],
    deletion: {},
    allocates: 'nothing',
    sensitive: false,
    applyDefaults: (object) => object,
    prepareForCreate: (object) => object,
    prepareForUpdate: (object) => object,
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

/** `v1` or `apps/v1`. */
export const apiVersionOf = ({ group, version }: Pick<Kind, 'group' | 'version'>): string =>
  group === '' ? version : `${group}/${version}`;
