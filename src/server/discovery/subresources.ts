import type { Kind, Subresource } from '../../api/kind.ts';
import { compareText } from '../../api/order.ts';

const status: Subresource = { name: 'status', verbs: ['get', 'patch', 'update'] };

/** The subresources of a kind, by name. */
export const subresourcesOf = ({ subresources, hasStatus }: Kind): readonly Subresource[] =>
  hasStatus ? [...subresources, status].sort((left, right) => compareText(left.name, right.name)) : subresources;
