import type { User } from '../../../api/user.ts';

/** The user name of a node is this and its name. */
export const nodePrefix = 'system:node:';

/** Members are nodes, as their user names state. */
export const nodesGroup = 'system:nodes';

/** The name of the node that a user is: '' for one without a name, undefined for a user who is not a node. */
export const nodeNameOf = ({ name, groups }: User): string | undefined =>
  name.startsWith(nodePrefix) && groups.includes(nodesGroup) ? name.slice(nodePrefix.length) : undefined;
