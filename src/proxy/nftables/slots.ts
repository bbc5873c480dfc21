import type { Action, Route, Target } from '../routes/route.ts';
import { targetKey } from '../routes/route.ts';
import type { SlottedRoute, Slots } from './elements.ts';
import { nearOffset } from './chains.ts';

/** A route with slots that differ as little as can be from those it had. */
export function slotted(route: Route, old?: SlottedRoute): SlottedRoute {
  return {
    route,
    slots: arrange(targetsIn(route.action), old?.slots ?? []),
    nearSlots: arrange(targetsIn(route.near?.action), old?.nearSlots ?? []),
  };
}

/** Each target as often as it weighs. What does not fit is left out: no list in Kubernetes comes near. */
function targetsIn(action: Action | undefined): Slots {
  if (action?.type !== 'forward') return [];
  const { targets } = action;
  const isEven = targets.every(({ weight }) => weight === 1);
  const repeated = isEven ? targets : targets.flatMap((target) => Array.from({ length: target.weight }, () => target));
  return repeated.length > nearOffset ? repeated.slice(0, nearOffset) : repeated;
}

/**
 * Puts targets into slots: who stays keeps its slot, who is new takes one that became free, and where slots are left
 * over the last ones move up. One target more or less is one or two slots written, whatever the length.
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
