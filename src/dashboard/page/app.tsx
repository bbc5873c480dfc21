// The frame of all pages: navigation, the state of the connection, and the page of the route.
import type { ReadonlySignal } from '@preact/signals';
import type { ComponentChild } from 'preact';
import type { Route } from '../view/route.ts';
import { linkTo } from '../view/route.ts';
import { AskPage } from './ask-page.tsx';
import type { IconName } from './glyphs.tsx';
import { Icon } from './glyphs.tsx';
import { MapPage } from './map-page.tsx';
import { ObjectPage } from './object-page.tsx';
import { OverviewPage } from './overview-page.tsx';
import { PlanPage } from './plan-page.tsx';
import { SignInPage, SignOut } from './sign-in-page.tsx';
import type { Store } from './store.ts';
import type { RowFeed, StreamState } from './stream.ts';
import { TimelinePage } from './timeline-page.tsx';
import type { Theme } from './theme.ts';

export interface AppProps {
  readonly store: Store;
  readonly feed: RowFeed;
  readonly route: ReadonlySignal<Route>;
  readonly theme: Theme;
}

const pages: readonly (readonly [Route['page'] & IconName, string])[] = [
  ['overview', 'Overview'],
  ['map', 'Map'],
  ['ask', 'Ask'],
  ['plan', 'Plan'],
  ['timeline', 'Timeline'],
];

export function App(props: AppProps) {
  const { feed, route, theme } = props;
  const current = route.value;
  return (
    <div class="frame">
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header class="bar">
        <a class="brand" href={linkTo({ page: 'overview' })}>
          <img src="/icon.svg" alt="" width="26" height="26" />
          <span>Fairlead</span>
        </a>
        <nav aria-label="Pages">
          {pages.map(([page, title]) => (
            <a key={page} href={linkTo({ page })} {...(current.page === page ? { 'aria-current': 'page' } : {})}>
              <Icon name={page} />
              <span>{title}</span>
            </a>
          ))}
        </nav>
        <div class="bar-end">
          <ConnectionState state={feed.state.value} />
          <SignOut feed={feed} />
          <button
            class="quiet"
            type="button"
            onClick={theme.next}
            title="Theme"
            aria-label={`Theme: ${theme.name.value}`}
          >
            <Icon name={theme.name.value} />
          </button>
        </div>
      </header>
      <main id="main" class={`on-${current.page}`} tabIndex={-1}>
        <Notice feed={feed} />
        {feed.state.value === 'signed out' ? <SignInPage feed={feed} /> : <Content {...props} />}
      </main>
    </div>
  );
}

function Content({ store, route }: AppProps): ComponentChild {
  const arriving = store.arriving.value;
  if (arriving !== undefined && store.rows.size === 0) {
    return (
      <p class="loading" role="status">
        {arriving === 0 ? 'Connecting…' : `Reading… ${arriving} rows`}
      </p>
    );
  }
  switch (route.value.page) {
    case 'map':
      return <MapPage store={store} route={route.value} />;
    case 'service':
    case 'import':
      return <ObjectPage store={store} route={route.value} />;
    case 'ask':
      return <AskPage store={store} route={route.value} />;
    case 'plan':
      return <PlanPage store={store} />;
    case 'timeline':
      return <TimelinePage store={store} />;
    case 'overview':
      return <OverviewPage store={store} />;
  }
}

const stateWords: Readonly<Record<StreamState, string>> = {
  connecting: 'connecting',
  live: 'live',
  lost: 'connection lost',
  hidden: 'paused',
  replaced: 'paused',
  'signed out': 'signed out',
};

function ConnectionState({ state }: { readonly state: StreamState }) {
  return (
    <span class={`connection connection-${state.replace(' ', '-')}`} role="status">
      <span class="pulse" aria-hidden="true" />
      {stateWords[state]}
    </span>
  );
}

/** The state of the connection, if the rows may be outdated. */
function Notice({ feed }: { readonly feed: RowFeed }) {
  switch (feed.state.value) {
    case 'lost':
      return <p class="notice">The dashboard does not answer, retrying. You see the last known state.</p>;
    case 'replaced':
      return (
        <p class="notice">
          This page is paused, because it is open in many windows of this browser.{' '}
          <button type="button" onClick={() => feed.open()}>
            Continue here
          </button>
        </p>
      );
    case 'connecting':
    case 'live':
    case 'hidden':
    case 'signed out':
      return null;
  }
}
