// The page of a Service or an import: the way of a connection, and everything behind it.
import type { Details } from '../view/details.ts';
import { importId, serviceId } from '../view/ids.ts';
import type { Route } from '../view/route.ts';
import { linkTo, linkToRow } from '../view/route.ts';
import type { Finding, ImportRow, ServiceRow } from '../view/rows.ts';
import { pathOf, useData } from './api.ts';
import { Icon, StateGlyph } from './glyphs.tsx';
import { Conditions, Events, Labels, Ports } from './object-facts.tsx';
import { PathView } from './path-view.tsx';
import { PlanTable } from './plan-table.tsx';
import { Output } from './scrolled.tsx';
import { SharingView } from './sharing-view.tsx';
import type { Store } from './store.ts';

export function ObjectPage({ store, route }: { readonly store: Store; readonly route: Route }) {
  void store.version.value; // rendered again when the row changes
  const { page, cluster, namespace, name } = route;
  const key = `${namespace}/${name}`;
  const id = page === 'import' ? importId(cluster, key) : serviceId(cluster, key);
  const row = store.rows.get(id);
  const details = useData<Details>(row === undefined ? undefined : pathOf('/api/details', { id }), row);
  if (row === undefined || row.kind === 'cluster') {
    return (
      <section class="card missing">
        <h1>{key}</h1>
        <p>
          There is no {page === 'import' ? 'import' : 'Service'} of this name in cluster {cluster}, or you may not read
          it.
        </p>
        <Relatives store={store} route={route} />
      </section>
    );
  }
  const isShared = row.kind === 'import' || row.exported !== undefined;
  return (
    <article class="object">
      <Head row={row} />
      <Relatives store={store} route={route} />
      <Findings findings={row.findings} />
      {details.error !== undefined && <p class="notice">{details.error}</p>}
      <div class="columns">
        <div>
          {details.value?.paths.map((path) => (
            <PathView key={path.name} path={path} />
          ))}
          {details.value === undefined && details.isLoading && <p class="loading">Reading…</p>}
          {isShared && <SharingView id={id} version={row} />}
        </div>
        <div>
          <Ports row={row} srv={details.value?.srv ?? []} />
          {row.kind === 'service' && <Labels labels={row.labels} />}
          <Conditions conditions={details.value?.conditions ?? []} />
          <Events events={details.value?.events ?? []} />
        </div>
      </div>
      {details.value?.plan !== undefined && <PlanTable plan={details.value.plan} title="On each cloud" />}
      {details.value?.yaml.map(({ title, text }) => (
        <Source key={title} title={title} text={text} />
      ))}
    </article>
  );
}

function Head({ row }: { readonly row: ServiceRow | ImportRow }) {
  const noun = row.kind === 'import' ? 'Import' : row.type;
  return (
    <header class="object-head">
      <h1>
        <span class="muted">{row.namespace}/</span>
        {row.name}
      </h1>
      <span class="chip">{noun}</span>
      <span class="chip">cluster {row.cluster}</span>
      {row.kind === 'service' && row.exported !== undefined && <span class="chip">export {row.exported}</span>}
      <a class="chip" href={linkTo({ page: 'map', query: new Map([['q', `${row.namespace}/${row.name}`]]) })}>
        show on the map
      </a>
    </header>
  );
}

/** Objects of the same name, in all clusters. */
function Relatives({
  store,
  route: { page, cluster, namespace, name },
}: {
  readonly store: Store;
  readonly route: Route;
}) {
  const rows = [...(store.namespaces.get(namespace)?.rows.values() ?? [])]
    .filter((row) => row.kind !== 'cluster' && row.name === name)
    .filter((row) => row.kind !== 'service' || row.derivedFrom === undefined)
    .toSorted((left, right) => (`${left.cluster} ${right.kind}` < `${right.cluster} ${left.kind}` ? -1 : 1));
  if (rows.length < 2) return null;
  return (
    <nav class="relatives" aria-label="The same name elsewhere">
      {rows.map((row) => (
        <a
          key={row.id}
          href={linkToRow(row.id)}
          {...(row.kind === page && row.cluster === cluster ? { 'aria-current': 'page' as const } : {})}
        >
          <Icon name={row.kind === 'import' ? 'import' : 'service'} />
          {row.kind === 'import' ? 'import' : 'Service'} in {row.cluster}
        </a>
      ))}
    </nav>
  );
}

function Findings({ findings }: { readonly findings: readonly Finding[] }) {
  if (findings.length === 0) return null;
  return (
    <ul class="findings">
      {findings.map(({ level, reason, text }) => (
        <li key={reason} class={`is-${level}`}>
          <StateGlyph state={level} />
          <span>
            <strong class="mono">{reason}</strong> {text}
          </span>
        </li>
      ))}
    </ul>
  );
}

function Source({ title, text }: { readonly title: string; readonly text: string }) {
  return (
    <details class="card source">
      <summary>{title}</summary>
      <button type="button" onClick={() => void navigator.clipboard.writeText(text)}>
        <Icon name="copy" /> Copy
      </button>
      <Output label={title}>{text}</Output>
    </details>
  );
}
