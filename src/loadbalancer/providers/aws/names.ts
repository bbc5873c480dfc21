// Names and tags of AWS resources of a Service.
import { createHash } from 'node:crypto';

import { trimEnd } from '../../../api/text.ts';
import type { ServiceIdentity } from '../../controller/provider.ts';

export interface Owner extends ServiceIdentity {
  readonly cluster: string;
}

/** The prefix of all names, so that our load balancers are found in a list without requesting tags. */
export const familyPrefix = 'fl-';

const serviceTag = 'kubernetes.io/service-name';
const uidTag = 'fairlead.dev/service-uid';
const clusterTag = (cluster: string): string => `kubernetes.io/cluster/${cluster}`;

/** The prefix of all names of one Service. */
export const prefixOf = ({ cluster, uid }: Pick<Owner, 'cluster' | 'uid'>): string =>
  `${familyPrefix}${createHash('sha256').update(`${cluster}/${uid}`).digest('hex').slice(0, 10)}`;

/** At most 32 characters: the unique part comes first, the readable part is truncated. */
export const balancerName = (owner: Owner): string =>
  trimEnd(`${prefixOf(owner)}-${owner.namespace}-${owner.name}`.slice(0, 32), '-');

/** The immutable properties of a target group. */
export interface GroupShape {
  readonly targetType: string;
  readonly protocol: string;
  readonly port: number;
  readonly health: { readonly protocol: string };
}

/**
 * Contains all immutable properties, so that a group with other properties has another name. The character before the port
 * encodes the target type, to fit into 32 characters.
 */
export const groupName = (owner: Owner, { targetType, protocol, port, health }: GroupShape): string =>
  [`${prefixOf(owner)}${targetType === 'ip' ? 'i' : '-'}${port}`, protocol.replace('_', ''), health.protocol]
    .join('-')
    .toLowerCase();

/** The ownership tags of a resource. */
export const tagsFor = (owner: Owner): Readonly<Record<string, string>> => ({
  [clusterTag(owner.cluster)]: 'owned',
  [serviceTag]: `${owner.namespace}/${owner.name}`,
  [uidTag]: owner.uid,
});

/** Filters for the resources of a cluster, where the API can search tags. */
export const filtersFor = (cluster: string): Readonly<Record<string, string>> => ({
  [`tag:${clusterTag(cluster)}`]: 'owned',
  'tag-key': uidTag,
});

/** The Service of this cluster that owns a resource, by its tags. */
export function ownerFromTags(cluster: string, tags: Readonly<Record<string, string>>): ServiceIdentity | undefined {
  const [namespace = '', name = ''] = (tags[serviceTag] ?? '').split('/');
  const uid = tags[uidTag] ?? '';
  if (tags[clusterTag(cluster)] !== 'owned' || uid === '') return undefined;
  return { namespace, name, uid };
}

/** Tags or attributes in the form of the SDK. */
export const asTags = (tags: Readonly<Record<string, string>>): { Key: string; Value: string }[] =>
  Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));

/** Tags or attributes from the form of the SDK. */
export const asRecord = (
  list: readonly { readonly Key?: string | undefined; readonly Value?: string | undefined }[] = [],
): Readonly<Record<string, string>> => Object.fromEntries(list.map(({ Key = '', Value = '' }) => [Key, Value]));
