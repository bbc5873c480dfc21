import type { ReadonlySignal } from '@preact/signals';
import { signal } from '@preact/signals';
import type { Route } from '../view/route.ts';
import { parseRoute } from '../view/route.ts';

/** The route of the address bar. */
export function followHash(): ReadonlySignal<Route> {
  const route = signal(parseRoute(location.hash));
  window.addEventListener('hashchange', () => (route.value = parseRoute(location.hash)));
  return route;
}
