import type { ReadonlySignal } from '@preact/signals';
import { signal } from '@preact/signals';
import { render } from 'preact';
import type { Route } from '../view/route.ts';
import { parseRoute } from '../view/route.ts';
import { App } from './app.tsx';
import './styles/base.css';
import './styles/symbols.css';
import './styles/frame.css';
import './styles/overview.css';
import './styles/map.css';
import './styles/text.css';
import { Store } from './store.ts';
import { RowFeed } from './stream.ts';
import { followTheme } from './theme.ts';

const store = new Store();
const feed = new RowFeed((delta) => store.apply(delta));
const app = document.getElementById('app');
if (app === null) throw new Error('bug: page.html has no element "app"');
app.replaceChildren();
render(<App store={store} feed={feed} route={followHash()} theme={followTheme()} />, app);

/** The route of the address bar. */
function followHash(): ReadonlySignal<Route> {
  const route = signal(parseRoute(location.hash));
  window.addEventListener('hashchange', () => (route.value = parseRoute(location.hash)));
  return route;
}
