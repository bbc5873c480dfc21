import type { User } from '../../../api/user.ts';

const prefix = 'system:node:';

/** Members are nodes, as their user names state. */
const nodesGroup = 'system:nodes';

/** The name of the node that a user is: '' for one without a name, undefined for a user who is not a node. */
export const nodeNameOf = ({ name, groups }: User): string | undefined =>
  name.startsWith(prefix) && groups.includes(nodesGroup) ? name.slice(prefix.length) : undefined;
