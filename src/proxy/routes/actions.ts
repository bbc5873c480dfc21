// Turns selected endpoints into actions.
import type { Candidate } from './candidates.ts';
import type { ThisNode } from './options.ts';
import type { Action, Target } from './route.ts';
import { targetKey } from './route.ts';
import type { Selection } from './selection.ts';
import { weightsOf } from './weights.ts';
import { compareText } from '../../api/order.ts';

/** The affinity timeout by the source cluster of an endpoint; 0: no affinity. */
export type AffinityTimeout = (cluster: string | undefined) => number;

/** The default of `sessionAffinityConfig.clientIP.timeoutSeconds`. */
const defaultStickySeconds = 10_800;

/** The timeout of session affinity; 0 without it. */
export function stickySeconds(spec: {
  readonly sessionAffinity?: string | undefined;
  readonly sessionAffinityConfig?:
    | { readonly clientIP?: { readonly timeoutSeconds?: number | undefined } | undefined }
    | undefined;
}): number {
  if (spec.sessionAffinity !== 'ClientIP') return 0;
  return spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? defaultStickySeconds;
}

/** The action under each traffic policy. Target lists are shared by all routes of a port. */
export interface PolicyActions {
  readonly Cluster: Action;
  readonly Local: Action;
}

/** The actions for one port. */
export function actionsFor(selection: Selection, node: ThisNode, affinityOf: AffinityTimeout): PolicyActions {
  const targets = (candidates: readonly Candidate[]): readonly Target[] => {
    const weights = weightsOf(candidates);
    return candidates
      .map((candidate, index) => ({ ...targetOf(candidate, node, affinityOf), weight: weights?.[index] ?? 1 }))
      .sort(byTarget);
  };
  return {
    Cluster: forward(targets(selection.cluster), { type: 'reject' }),
    // Other nodes have endpoints: without a reply, load balancers and clients try those.
    Local: forward(targets(selection.local), { type: selection.hasAny ? 'drop' : 'reject' }),
  };
}

const forward = (targets: readonly Target[], otherwise: Action): Action =>
  targets.length === 0 ? otherwise : { type: 'forward', targets };

function targetOf(
  { address, port, nodeName, cluster }: Candidate,
  node: ThisNode,
  affinityOf: AffinityTimeout,
): Target {
  const isLocal = nodeName === undefined || nodeName === node.name;
  return { address, port, weight: 1, stickySeconds: affinityOf(cluster), isLocal };
}

/** An order that does not depend on the order of slices, so that equal routes are equal. */
const byTarget = (a: Target, b: Target): number => compareText(a.address, b.address) || a.port - b.port;

/** Endpoints whose existing flows may continue: traffic policies and topology apply to new ones only. */
export const servingOf = ({ candidates }: Selection): ReadonlySet<string> =>
  new Set(candidates.filter(({ ready, serving }) => ready || serving).map(targetKey));
