// Routes and uses of endpoints in words.
import type { Action, Route } from './route.ts';
import { placeText } from './route.ts';
import type { EndpointReason } from './why.ts';

/** What happens to connections of a route. */
export const routeText = (route: Route): string =>
  `→ ${actionText(route.action)}${route.near === undefined ? '' : `; from this node → ${actionText(route.near.action)}`}` +
  `${route.proxyProtocol === undefined ? '' : `; PROXY protocol ${route.proxyProtocol}`}` +
  `${route.sources === undefined ? '' : `; only from ${route.sources.join(', ') || 'nowhere'}`}`;

function actionText(action: Action): string {
  switch (action.type) {
    case 'forward':
      return action.targets
        .map(
          (target) => `${placeText(target)}${target.stickySeconds === 0 ? '' : ` (sticky ${target.stickySeconds} s)`}`,
        )
        .join(', ');
    case 'reject':
      return 'rejected: no endpoints';
    case 'drop':
      return 'dropped';
  }
}

/** Whether an endpoint is used at all addresses of its port, at some, or at none. */
export function useText({ usedAt, usedNearAt, unusedAt }: EndpointReason): 'used' | 'partly' | 'not used' {
  if (usedAt.length + usedNearAt.length === 0) return 'not used';
  return usedNearAt.length + unusedAt.length === 0 ? 'used' : 'partly';
}

/** The reason, with the addresses at which an endpoint is used if it is not used at all of them. */
export function reasonText(endpoint: EndpointReason): string {
  const { usedAt, usedNearAt, reason } = endpoint;
  if (useText(endpoint) !== 'partly') return reason;
  const places = [
    ...(usedAt.length === 0 ? [] : [`at ${usedAt.join(', ')}`]),
    ...(usedNearAt.length === 0 ? [] : [`from this node at ${usedNearAt.join(', ')}`]),
  ];
  return [...places, reason].join('; ');
}
