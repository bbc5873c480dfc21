// From chosen endpoints to what becomes of connections.
import type { Candidate } from './candidates.ts';
import type { ThisNode } from './options.ts';
import type { Action, Target } from './route.ts';
import { targetKey } from './route.ts';
import type { Selection } from './selection.ts';

/** How long clients stay with an endpoint, by the cluster the endpoint is in. */
export type Stickiness = (cluster: string | undefined) => number;

/** The default of `sessionAffinityConfig.clientIP.timeoutSeconds`. */
const defaultStickySeconds = 10_800;

/** The time that session affinity asks for; 0 without it. */
export function stickySeconds(spec: {
  readonly sessionAffinity?: string | undefined;
  readonly sessionAffinityConfig?:
    | { readonly clientIP?: { readonly timeoutSeconds?: number | undefined } | undefined }
    | undefined;
}): number {
  if (spec.sessionAffinity !== 'ClientIP') return 0;
  return spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? defaultStickySeconds;
}

/** What becomes of connections under each policy. The lists are made once and shared by all routes of a port. */
export interface PolicyActions {
  readonly Cluster: Action;
  readonly Local: Action;
}

/** The actions for one port. */
export function actionsFor(selection: Selection, node: ThisNode, sticky: Stickiness): PolicyActions {
  const targets = (candidates: readonly Candidate[]): readonly Target[] =>
    candidates.map((candidate) => targetOf(candidate, node, sticky)).sort(byTarget);
  return {
    Cluster: forward(targets(selection.cluster), { type: 'reject' }),
    // Somebody else has endpoints: silence makes load balancers and clients go there.
    Local: forward(targets(selection.local), { type: selection.hasAny ? 'drop' : 'reject' }),
  };
}

const forward = (targets: readonly Target[], otherwise: Action): Action =>
  targets.length === 0 ? otherwise : { type: 'forward', targets };

function targetOf({ address, port, nodeName, cluster }: Candidate, node: ThisNode, sticky: Stickiness): Target {
  const isHere = nodeName === undefined || nodeName === node.name;
  return { address, port, weight: 1, stickySeconds: sticky(cluster), isHere };
}

/** An order that does not depend on the order of slices, so that equal routes are equal. */
const byTarget = (a: Target, b: Target): number =>
  a.address < b.address ? -1 : a.address > b.address ? 1 : a.port - b.port;

/** Who may go on answering flows that exist: traffic policies and topology are about new ones. */
export const servingOf = ({ candidates }: Selection): ReadonlySet<string> =>
  new Set(candidates.filter(({ ready, serving }) => ready || serving).map(targetKey));
