// ControllerRevisions: the history of the template of a StatefulSet or DaemonSet.
import { isDeepStrictEqual } from 'node:util';

import type { Kind } from '../../api/kind.ts';
import type { ControllerRevision } from '../../api/kinds/apps/controllerrevision/kind.ts';
import { controllerRevisionKind } from '../../api/kinds/apps/controllerrevision/kind.ts';
import type { PodTemplateSpec } from '../../api/kinds/core/pod/schema.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { compareText } from '../../api/order.ts';
import type { Client } from '../../client/client.ts';
import { nameOf } from '../../client/key.ts';
import { hasStatusCode } from '../../client/transport.ts';
import { referenceTo } from './owner.ts';
import { canonicalJson, fnv1, safeText } from './template.ts';

/** Label of Pods with the revision of their template. */
export const revisionLabel = 'controller-revision-hash';
/** Label of the revisions of StatefulSets with their hash. */
export const hashLabel = 'controller.kubernetes.io/hash';

/** An owner with a template. */
export interface Templated extends ApiObject {
  readonly spec: { readonly template: PodTemplateSpec; readonly revisionHistoryLimit?: number };
  readonly status: { readonly collisionCount?: number };
}

/** The history of an owner and how it must change. */
export interface History {
  /** The revision of the current template. */
  readonly update: ControllerRevision;
  /** Whether it must be created, or written with a new number because its template is current again. */
  readonly change: 'create' | 'renumber' | 'none';
  /** All revisions in order, with `update` at the end. */
  readonly revisions: readonly ControllerRevision[];
}

/** The history with the current template as its last revision. */
export function planHistory<T extends Templated>(
  kind: Kind<T>,
  owner: T,
  owned: readonly ControllerRevision[],
  labelled: (hash: string) => Readonly<Record<string, string>>,
): History {
  const sorted = owned.toSorted(byRevision);
  const last = sorted.at(-1);
  const data = dataOf(owner.spec.template);
  const equal = sorted.filter((revision) => isDeepStrictEqual(revision.data, data)).at(-1);
  const next = (last?.revision ?? 0) + 1;
  if (equal === undefined) {
    const update = newRevision(kind, owner, { data, revision: next, labelled });
    return { update, change: 'create', revisions: [...sorted, update] };
  }
  if (equal === last) return { update: equal, change: 'none', revisions: sorted };
  const update = { ...equal, revision: next };
  return { update, change: 'renumber', revisions: [...sorted.filter((each) => each !== equal), update] };
}

const byRevision = (left: ControllerRevision, right: ControllerRevision): number =>
  left.revision - right.revision ||
  compareText(left.metadata.creationTimestamp, right.metadata.creationTimestamp) ||
  compareText(left.metadata.name, right.metadata.name);

/** The data of a revision: a strategic merge patch that sets the template. */
const dataOf = ({ metadata, spec }: PodTemplateSpec): ControllerRevision['data'] =>
  // JSON without undefined values, as the server returns it.
  JSON.parse(
    canonicalJson({ spec: { template: { $patch: 'replace', metadata, spec } } }),
  ) as ControllerRevision['data'];

function newRevision<T extends Templated>(
  kind: Kind<T>,
  owner: T,
  given: {
    readonly data: ControllerRevision['data'];
    readonly revision: number;
    readonly labelled: (hash: string) => Readonly<Record<string, string>>;
  },
): ControllerRevision {
  const { namespace = '', name = '', annotations = {} } = owner.metadata;
  const { collisionCount = 0 } = owner.status;
  const hash = safeText(fnv1(canonicalJson(given.data) + (collisionCount === 0 ? '' : String(collisionCount))));
  const { 'kubectl.kubernetes.io/last-applied-configuration': _applied, ...kept } = annotations;
  return {
    metadata: {
      namespace,
      name: `${name}-${hash}`,
      labels: { ...owner.spec.template.metadata.labels, ...given.labelled(hash) },
      ...(Object.keys(kept).length === 0 ? {} : { annotations: kept }),
      ownerReferences: [referenceTo(kind, owner)],
    },
    data: given.data,
    revision: given.revision,
  };
}

/** The template of a revision; undefined: the revision is not one of a template. */
export function templateOf({ data }: ControllerRevision): PodTemplateSpec | undefined {
  // A cast because the data is any JSON; revisions of other programs may lack the template.
  const template = (data as { readonly spec?: { readonly template?: PodTemplateSpec } } | undefined)?.spec?.template;
  if (template === undefined) return undefined;
  const { metadata, spec } = template;
  return { metadata, spec };
}

/** The hash in the name of a revision, which is also the label of the Pods of a DaemonSet. */
export const hashOf = ({ metadata }: ControllerRevision): string =>
  metadata.labels?.[revisionLabel] ?? metadata.name?.split('-').at(-1) ?? '';

/** Revisions above the limit that no Pod has, oldest first. */
export function surplusRevisions<T extends Templated>(
  { spec }: T,
  { revisions, update }: History,
  inUse: ReadonlySet<string>,
): readonly ControllerRevision[] {
  const { revisionHistoryLimit: limit = 10 } = spec;
  if (limit < 0) return [];
  const unused = revisions.filter((each) => each !== update && !inUse.has(each.metadata.name ?? ''));
  return unused.slice(0, Math.max(0, unused.length - limit));
}

/** The result of writing the history. */
export type HistoryWrite = 'written' | 'collision';

/** Writes the change of a history; `collision`: the name is taken by another revision, and another hash is needed. */
export async function writeHistory(
  client: Client,
  { update, change }: History,
  signal: AbortSignal,
): Promise<HistoryWrite> {
  if (change === 'renumber') await client.update(controllerRevisionKind, update, { signal, metadataOnly: true });
  if (change !== 'create') return 'written';
  try {
    await client.create(controllerRevisionKind, update, { signal, metadataOnly: true });
    return 'written';
  } catch (error) {
    if (!hasStatusCode(error, 409)) throw error;
    const existing = await client.find(controllerRevisionKind, nameOf(update), { signal });
    if (existing === undefined) throw error;
    // Our own revision, which the cache does not contain yet, is no collision.
    return isDeepStrictEqual(existing.data, update.data) ? 'written' : 'collision';
  }
}

/** Deletes revisions. */
export async function removeRevisions(
  client: Client,
  revisions: readonly ControllerRevision[],
  signal: AbortSignal,
): Promise<void> {
  for (const revision of revisions) {
    const { uid = '' } = revision.metadata;
    await client.delete(controllerRevisionKind, nameOf(revision), { preconditions: { uid }, signal });
  }
}
