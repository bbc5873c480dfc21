import type { Action, Route, Target } from '../routes/route.ts';
import { targetKey } from '../routes/route.ts';
import type { SlottedRoute, Slots } from './elements.ts';
import { nearOffset } from './chains.ts';

/** Assigns slots to a route with as few changes as possible. */
export function slotted(route: Route, old?: SlottedRoute): SlottedRoute {
  return {
    route,
    slots: arrange(targetsIn(route.action), old?.slots ?? []),
    nearSlots: arrange(targetsIn(route.near?.action), old?.nearSlots ?? []),
  };
}

/** Each target once per weight, up to the maximum number of slots, which no list in Kubernetes reaches. */
function targetsIn(action: Action | undefined): Slots {
  if (action?.type !== 'forward') return [];
  const { targets } = action;
  const isEven = targets.every(({ weight }) => weight === 1);
  const repeated = isEven ? targets : targets.flatMap((target) => Array.from({ length: target.weight }, () => target));
  return repeated.length > nearOffset ? repeated.slice(0, nearOffset) : repeated;
}

/**
 * Assigns targets to slots: existing targets keep their slots, new ones take free slots, and the last ones fill gaps. Adding or
 * removing a target changes one or two slots.
 */
export function arrange(targets: Slots, old: Slots): Slots {
  if (old.length === 0) return targets;
  const waiting = new Map<string, Target[]>();
  for (const target of targets) {
    const same = waiting.get(targetKey(target));
    if (same === undefined) waiting.set(targetKey(target), [target]);
    else same.push(target);
  }
  const slots: (Target | undefined)[] = old
    .slice(0, targets.length)
    .map((target) => waiting.get(targetKey(target))?.pop());
  const rest = [...waiting.values()].flat();
  for (let index = 0; index < targets.length; index++) slots[index] ??= rest.pop();
  return slots.filter((target) => target !== undefined);
}
