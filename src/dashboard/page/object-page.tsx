// The page of a Service or an import: the way of a connection, and everything behind it.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { BalancerPlan, ConditionRow, Details, Path, ShareStep, Sharing, Step } from '../view/details.ts';
import type { Route } from '../view/route.ts';
import { linkTo, linkToRow } from '../view/route.ts';
import type { EventRow, Finding, ImportRow, PortRow, ServiceRow } from '../view/rows.ts';
import { importId, serviceId } from '../view/ids.ts';
import { timeText } from '../view/text.ts';
import { pathOf, useData } from './api.ts';
import type { State } from './glyphs.tsx';
import { Icon, StateGlyph } from './glyphs.tsx';
import { Output, Scrolled } from './scrolled.tsx';
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

const stepStates: Readonly<Record<Step['state'], State>> = { ok: 'ok', broken: 'error', unknown: 'idle' };
const stepWords: Readonly<Record<Step['state'], string>> = { ok: 'works', broken: 'broken', unknown: 'not known' };

/** The steps of a connection, each with its reasons. */
function PathView({ path }: { readonly path: Path }) {
  return (
    <section class="card path" aria-label={`Connection to ${path.name}`}>
      <header>
        <h2>
          Connection to <span class="mono break">{path.name}</span>
        </h2>
      </header>
      <ol>
        {path.steps.map((step) => (
          <li key={step.title} class={`step is-${step.state}`}>
            <StateGlyph state={stepStates[step.state]} label={stepWords[step.state]} />
            <div>
              <h3>{step.title}</h3>
              <p>{step.summary}</p>
              <Lines lines={step.lines} />
              {step.why.length > 0 && (
                <ul class="why">
                  {step.why.map((text) => (
                    <li key={text}>{text}</li>
                  ))}
                </ul>
              )}
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** More at once would hide the next step. */
const firstLines = 6;

function Lines({ lines }: Pick<Step, 'lines'>) {
  const [isAll, showAll] = useState(false);
  if (lines.length === 0) return null;
  const shown = isAll ? lines : lines.slice(0, firstLines);
  return (
    <div class="lines">
      <ul>
        {shown.map(({ text, note, isUsed }) => (
          <li key={`${text} ${note}`} class={isUsed ? '' : 'unused'}>
            <code>{text}</code>
            {note !== '' && <span class="muted">{note}</span>}
          </li>
        ))}
      </ul>
      {lines.length > shown.length && (
        <button type="button" onClick={() => showAll(true)}>
          Show all {lines.length}
        </button>
      )}
    </div>
  );
}

const shareStates: Readonly<Record<ShareStep['state'], State>> = {
  ok: 'ok',
  broken: 'error',
  unknown: 'warning',
  'not reached': 'idle',
};

/** The steps from the export to the import, which are asked for when the page is open: they read all clusters. */
function SharingView({ id, version }: { readonly id: string; readonly version: unknown }) {
  const { value, error, isLoading } = useData<Sharing>(pathOf('/api/sharing', { id }), version);
  return (
    <section class="card path" aria-labelledby="sharing">
      <header>
        <h2 id="sharing">From export to import</h2>
      </header>
      {value === undefined && isLoading && <p class="inset muted">Reading all clusters…</p>}
      {error !== undefined && <p class="inset muted">{error}</p>}
      {value !== undefined && (
        <>
          <ol class="compact">
            {value.steps.map(({ step, state, message }) => (
              <li key={step} class="step">
                <StateGlyph state={shareStates[state]} label={state} />
                <div>
                  <h3>{step}</h3>
                  <p>{message}</p>
                </div>
              </li>
            ))}
          </ol>
          <Output label="Explanation">{value.explanation}</Output>
        </>
      )}
    </section>
  );
}

function Section({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <section class="card facts" aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

function Ports({ row, srv }: { readonly row: ServiceRow | ImportRow; readonly srv: Details['srv'] }) {
  const outside = row.kind === 'service' ? row.external : [];
  return (
    <Section title="Addresses and ports">
      <dl>
        {row.addresses.length > 0 && (
          <Fact term={row.kind === 'import' ? 'Address' : 'Cluster IP'} values={row.addresses} />
        )}
        {outside.length > 0 && <Fact term="From outside" values={outside} />}
        {row.published.length > 0 && <Fact term="Published as" values={row.published} />}
        {row.kind === 'service' && row.externalName !== undefined && (
          <Fact term="Alias of" values={[row.externalName]} />
        )}
      </dl>
      {row.ports.length > 0 && (
        <Scrolled label="Ports">
          <table>
            <thead>
              <tr>
                <th scope="col">Port</th>
                <th scope="col">Name</th>
                <th scope="col">Node port</th>
                <th scope="col">Load balancer</th>
              </tr>
            </thead>
            <tbody>
              {row.ports.map((port) => (
                <PortLine key={port.port} port={port} hasBalancer={outside.length > 0 || port.error !== undefined} />
              ))}
            </tbody>
          </table>
        </Scrolled>
      )}
      {srv.length > 0 && (
        <dl>
          <Fact term="SRV names" values={srv.map(({ name }) => name)} />
        </dl>
      )}
    </Section>
  );
}

function PortLine({
  port: { port, name, nodePort, error },
  hasBalancer,
}: {
  readonly port: PortRow;
  readonly hasBalancer: boolean;
}) {
  return (
    <tr>
      <td class="mono">{port}</td>
      <td>{name || '–'}</td>
      <td class="mono">{nodePort ?? '–'}</td>
      <td>
        {!hasBalancer && '–'}
        {hasBalancer && error === undefined && (
          <>
            <StateGlyph state="ok" label="" /> served
          </>
        )}
        {error !== undefined && (
          <>
            <StateGlyph state="error" label="" /> <span class="mono">{error}</span>
          </>
        )}
      </td>
    </tr>
  );
}

function Fact({ term, values }: { readonly term: string; readonly values: readonly string[] }) {
  return (
    <div class="fact">
      <dt>{term}</dt>
      {values.map((value) => (
        <dd key={value} class="mono break">
          {value}
        </dd>
      ))}
    </div>
  );
}

function Labels({ labels }: Pick<ServiceRow, 'labels'>) {
  const entries = Object.entries(labels);
  if (entries.length === 0) return null;
  return (
    <Section title="Labels">
      <ul class="chips">
        {entries.map(([name, value]) => (
          <li key={name}>
            <a class="chip mono" href={linkTo({ page: 'map', query: new Map([['q', `${name}=${value}`]]) })}>
              {name}={value}
            </a>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Conditions({ conditions }: { readonly conditions: readonly ConditionRow[] }) {
  if (conditions.length === 0) return null;
  return (
    <Section title="Conditions">
      <ul class="stack">
        {conditions.map(({ object, type, status, reason, message, meaning, isGood }) => (
          <li key={`${object} ${type}`}>
            <StateGlyph state={isGood ? 'ok' : status === 'Unknown' ? 'idle' : 'error'} label={status} />
            <div>
              <p>
                {meaning === '' ? `${type} is ${status}` : meaning}{' '}
                <span class="muted">
                  {type}={status}
                  {reason === '' ? '' : `, ${reason}`} · {object}
                </span>
              </p>
              {message !== '' && !isGood && <p class="message">{message}</p>}
            </div>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Events({ events }: { readonly events: readonly EventRow[] }) {
  if (events.length === 0) return null;
  return (
    <Section title="Events">
      <ul class="stack">
        {events.map(({ id, at, isWarning, reason, text }) => (
          <li key={id}>
            <StateGlyph state={isWarning ? 'warning' : 'info'} label={isWarning ? 'Warning' : 'Normal'} />
            <div>
              <p>
                <span class="mono">{reason}</span> <time class="muted">{timeText(Date.parse(at))}</time>
              </p>
              <p class="message">{text}</p>
            </div>
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** What load balancers of clouds would cost. */
export function PlanTable({ plan, title }: { readonly plan: BalancerPlan; readonly title: string }) {
  const words = { yes: 'ok', 'in part': 'warning', no: 'error' } as const;
  return (
    <section class="card facts" aria-label={title}>
      <h2>
        {title} <span class="muted">{plan.ports}</span>
      </h2>
      <Scrolled label={title}>
        <table>
          <thead>
            <tr>
              <th scope="col">Provider</th>
              <th scope="col">Kind</th>
              <th scope="col">Works</th>
              <th scope="col" class="number">
                Resources
              </th>
              <th scope="col" class="number">
                USD a month
              </th>
              <th scope="col">Note</th>
            </tr>
          </thead>
          <tbody>
            {plan.rows.map((row) => (
              <tr key={`${row.provider} ${row.kind}`}>
                <td>{row.provider}</td>
                <td>
                  {row.kind}
                  {row.isRequested && <span class="chip">requested</span>}
                </td>
                <td class="nowrap">
                  <StateGlyph state={words[row.works]} label="" /> {row.works}
                </td>
                <td class="number">{row.works === 'no' ? '–' : row.resources}</td>
                <td class="number">{row.works === 'no' ? '–' : (row.monthly?.toFixed(2) ?? '?')}</td>
                <td class="note">{row.note}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolled>
      <p class="muted">Prices of {plan.pricesOf}; ? depends on the operator.</p>
    </section>
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
