// How what belongs to a Service is called at AWS, and what tells whose it is.
import { createHash } from 'node:crypto';

import { trimEnd } from '../../../api/text.ts';
import type { ServiceIdentity } from '../../controller/provider.ts';

/** A Service of a cluster. */
export interface Owner extends ServiceIdentity {
  readonly cluster: string;
}

/** What every name begins with that we give, so that a list of all load balancers is searched without asking for tags. */
export const familyPrefix = 'fl-';

const serviceTag = 'kubernetes.io/service-name';
const uidTag = 'fairlead.dev/service-uid';
const clusterTag = (cluster: string): string => `kubernetes.io/cluster/${cluster}`;

/** What the names of everything of one Service begin with. */
export const prefixOf = ({ cluster, uid }: Pick<Owner, 'cluster' | 'uid'>): string =>
  `${familyPrefix}${createHash('sha256').update(`${cluster}/${uid}`).digest('hex').slice(0, 10)}`;

/** AWS takes 32 characters. What makes the name unique comes first; what a person reads is cut. */
export const balancerName = (owner: Owner): string =>
  trimEnd(`${prefixOf(owner)}-${owner.namespace}-${owner.name}`.slice(0, 32), '-');

/** What of a target group cannot change later. */
export interface GroupShape {
  readonly targetType: string;
  readonly protocol: string;
  readonly port: number;
  readonly health: { readonly protocol: string };
}

/**
 * Has everything about a group that cannot change later, so that another one has another name. There is just room for it:
 * one letter before the port tells what its targets are.
 */
export const groupName = (owner: Owner, { targetType, protocol, port, health }: GroupShape): string =>
  [`${prefixOf(owner)}${targetType === 'ip' ? 'i' : '-'}${port}`, protocol.replace('_', ''), health.protocol]
    .join('-')
    .toLowerCase();

/** The tags that say whose something is. */
export const tagsFor = (owner: Owner): Readonly<Record<string, string>> => ({
  [clusterTag(owner.cluster)]: 'owned',
  [serviceTag]: `${owner.namespace}/${owner.name}`,
  [uidTag]: owner.uid,
});

/** What finds everything of a cluster that has tags to be searched by. */
export const filtersFor = (cluster: string): Readonly<Record<string, string>> => ({
  [`tag:${clusterTag(cluster)}`]: 'owned',
  'tag-key': uidTag,
});

/** The Service of this cluster that something was made for, as its tags say. */
export function ownerFromTags(cluster: string, tags: Readonly<Record<string, string>>): ServiceIdentity | undefined {
  const [namespace = '', name = ''] = (tags[serviceTag] ?? '').split('/');
  const uid = tags[uidTag] ?? '';
  if (tags[clusterTag(cluster)] !== 'owned' || uid === '') return undefined;
  return { namespace, name, uid };
}

/** Tags as the SDK has them. */
export const asTags = (tags: Readonly<Record<string, string>>): { Key: string; Value: string }[] =>
  Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));

/** Tags or attributes of the SDK as we have them. */
export const asRecord = (
  list: readonly { readonly Key?: string | undefined; readonly Value?: string | undefined }[] = [],
): Readonly<Record<string, string>> => Object.fromEntries(list.map(({ Key = '', Value = '' }) => [Key, Value]));
