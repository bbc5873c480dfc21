import type { OwnerReference } from '../../api/metadata.ts';
import type { OwnershipGraph } from './graph.ts';
import type { Identity, Mode, Node } from './node.ts';
import { isSpelledAs, mayOwn, placeOf } from './node.ts';

/** What the collector knows beside the graph. */
export interface Knowledge {
  /** Whether objects of a kind have a namespace; undefined if discovery does not know the kind. */
  scopeOf(apiVersion: string, kind: string): 'Namespaced' | 'Cluster' | undefined;
  /** What a lookup for this plan found; undefined if none was made. */
  answerTo(owner: Identity): Mode | 'absent' | undefined;
}

/**
 * What a reference is worth to the object that holds it.
 * - `solid`: the owner exists; `unseen`: it exists, but only a lookup says so.
 * - `waiting`, `orphaning`: it exists and is being deleted after, or without, its dependents.
 * - `dangling`: it does not exist; `refused`: it exists in another namespace, which is the same.
 * - `unresolvable`: a cluster-scoped object names an owner of a namespaced kind, which could be anywhere.
 * - `unknown-kind`: nobody knows where to look; `ask`: nobody has looked yet.
 */
export type Standing =
  | 'solid'
  | 'unseen'
  | 'waiting'
  | 'orphaning'
  | 'dangling'
  | 'refused'
  | 'unresolvable'
  | 'unknown-kind'
  | 'ask';

/** A reference with what it is worth, and where its owner would be if it is to be asked about. */
export interface Judged {
  readonly reference: OwnerReference;
  readonly standing: Standing;
  readonly owner: Identity;
}

/** Judges one reference of an object. */
export function judge(
  graph: OwnershipGraph,
  { identity }: Node,
  reference: OwnerReference,
  knowledge: Knowledge,
): Judged {
  const { apiVersion, kind, name, uid } = reference;
  const owner = { apiVersion, kind, namespace: identity.namespace, name, uid };
  const node = graph.node(uid);
  const known = standingInGraph(node, identity, reference);
  if (known !== undefined) return { reference, standing: known, owner };
  const scope = knowledge.scopeOf(apiVersion, kind);
  const place = scope === 'Cluster' ? { ...owner, namespace: '' } : owner;
  const is = (standing: Standing): Judged => ({ reference, standing, owner: place });
  if (identity.namespace === '' && scope === 'Namespaced') return is('unresolvable');
  // A watch saw the end of it, so that it does not matter that its kind may have ended too.
  if (node?.sight === 'gone' && (scope !== undefined || identity.namespace !== '')) return is('dangling');
  if (node?.sight === 'seen' && !mayOwn(node.identity, identity)) return is('refused');
  if (scope === undefined) return is('unknown-kind');
  if (node?.absent.has(placeOf(place)) === true) return is('dangling');
  const answer = knowledge.answerTo(place);
  if (answer === undefined) return is('ask');
  if (answer === 'absent') return is('dangling');
  if (answer !== 'live') return is(answer);
  // Seen under another spelling, such as an older version of its kind: its end will be seen as well.
  return is(node?.sight === 'seen' ? 'solid' : 'unseen');
}

/** What the graph alone can say. In a steady cluster that is everything. */
function standingInGraph(node: Node | undefined, dependent: Identity, reference: OwnerReference): Standing | undefined {
  if (node?.sight !== 'seen' || !mayOwn(node.identity, dependent)) return undefined;
  // Even if misspelled: an object that was meant to be left behind is not looked at more closely.
  if (node.mode === 'orphaning') return 'orphaning';
  if (!isSpelledAs(reference, node.identity)) return undefined;
  return node.mode === 'waiting' ? 'waiting' : 'solid';
}
