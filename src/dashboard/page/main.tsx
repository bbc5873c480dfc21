import { render } from 'preact';
import { App } from './app.tsx';
import './styles/base.css';
import './styles/symbols.css';
import './styles/frame.css';
import './styles/overview.css';
import './styles/map.css';
import './styles/text.css';
import { followHash } from './route-signal.ts';
import { Store } from './store.ts';
import { RowFeed } from './stream.ts';
import { followTheme } from './theme.ts';

const store = new Store();
const feed = new RowFeed((delta) => store.apply(delta));
const app = document.getElementById('app');
if (app === null) throw new Error('bug: page.html has no element "app"');
app.replaceChildren();
render(<App store={store} feed={feed} route={followHash()} theme={followTheme()} />, app);
