// The clusters, and what needs attention first.
import { useState } from 'preact/hooks';
import { clusterId } from '../view/ids.ts';
import type { AttentionItem, ClusterOverview, Overview } from '../view/overview.ts';
import { linkTo, linkToRow } from '../view/route.ts';
import type { Level } from '../view/rows.ts';
import { countText } from '../view/text.ts';
import { Icon, StateGlyph } from './glyphs.tsx';
import type { Store, TimelineEntry } from './store.ts';
import { TimelineList } from './timeline-page.tsx';

export function OverviewPage({ store }: { readonly store: Store }) {
  const overview = store.overview.value;
  return (
    <div class="overview">
      <h1>{headline(overview)}</h1>
      <div class="clusters">
        {overview.clusters.map((cluster) => (
          <ClusterCard key={cluster.cluster} cluster={cluster} attention={overview.attention} />
        ))}
      </div>
      <Attention {...overview} />
      <Recent entries={store.timeline.value.slice(0, 6)} />
    </div>
  );
}

function headline({ clusters, findings }: Overview): string {
  const lost = clusters.filter(({ state }) => state === 'lost').length;
  if (lost > 0) return `${countText(lost, 'cluster')} of ${clusters.length} lost`;
  if (findings.error > 0) return `${countText(findings.error, 'error')} to look at`;
  if (findings.warning > 0) return `${countText(findings.warning, 'warning')}, nothing broken`;
  return 'Nothing needs attention';
}

const clusterStates = { ok: 'ok', lost: 'error', reading: 'idle' } as const;
const clusterWords = { ok: 'answers', lost: 'lost', reading: 'being read' } as const;

function ClusterCard({
  cluster,
  attention,
}: {
  readonly cluster: ClusterOverview;
  readonly attention: Overview['attention'];
}) {
  const { ready, notReady, terminating } = cluster.endpoints;
  const total = ready + notReady + terminating;
  const own = attention.filter((item) => item.cluster === cluster.cluster);
  const errors = own.filter(({ level }) => level === 'error').length;
  return (
    <article class={`card cluster is-${cluster.state}`}>
      <header>
        <StateGlyph state={clusterStates[cluster.state]} label={clusterWords[cluster.state]} />
        <h2>
          <a href={linkToRow(clusterId(cluster.cluster))}>{cluster.cluster}</a>
        </h2>
        <span class="muted">{cluster.version ?? 'version unknown'}</span>
      </header>
      <dl class="numbers">
        <Number value={cluster.services} noun="Services" />
        <Number value={cluster.exports} noun="exported" />
        <Number value={cluster.imports} noun="imported" />
        <Number value={cluster.loadBalancers} noun="load balancers" />
      </dl>
      <Meter ready={ready} notReady={notReady} terminating={terminating} />
      <footer class="muted">
        <span>{total === 0 ? 'no endpoints' : `${ready} of ${countText(total, 'endpoint')} ready`}</span>
        <span>{cluster.state === 'lost' ? 'does not answer' : answerText(cluster.answerMs)}</span>
        <span>
          {own.length === 0 ? '' : `${countText(errors, 'error')}, ${countText(own.length - errors, 'warning')}`}
        </span>
      </footer>
    </article>
  );
}

const answerText = (ms: number | undefined): string => (ms === undefined ? '' : `answers in ${ms} ms or less`);

function Number({ value, noun }: { readonly value: number; readonly noun: string }) {
  return (
    <div>
      <dt>{noun}</dt>
      <dd>{value.toLocaleString('en')}</dd>
    </div>
  );
}

/** Shares of endpoints by state. */
function Meter({ ready, notReady, terminating }: ClusterOverview['endpoints']) {
  const parts = [
    ['ready', ready],
    ['not-ready', notReady],
    ['terminating', terminating],
  ] as const;
  return (
    <div class="meter" aria-hidden="true">
      {parts
        .filter(([, count]) => count > 0)
        .map(([state, count]) => (
          <span key={state} class={state} style={{ flexGrow: count }} />
        ))}
    </div>
  );
}

/** More at once would hide what is first. */
const firstItems = 50;

function Attention({ attention, findings }: Overview) {
  const [shown, setShown] = useState(firstItems);
  const hidden = attention.length - shown;
  return (
    <section class="card attention" aria-labelledby="attention">
      <header>
        <h2 id="attention">Needs attention</h2>
        <span class="muted">
          {countText(findings.error, 'error')}, {countText(findings.warning, 'warning')}
        </span>
      </header>
      {attention.length === 0 && (
        <p class="empty">
          <StateGlyph state="ok" label="" /> Nothing needs attention.
        </p>
      )}
      <ul>
        {attention.slice(0, shown).map((item) => (
          <AttentionLine key={`${item.id} ${item.reason}`} item={item} />
        ))}
      </ul>
      {hidden > 0 && (
        <button type="button" onClick={() => setShown(shown + 200)}>
          Show {Math.min(hidden, 200)} more of {hidden}
        </button>
      )}
    </section>
  );
}

function Recent({ entries }: { readonly entries: readonly TimelineEntry[] }) {
  if (entries.length === 0) return null;
  return (
    <section aria-labelledby="recent">
      <h2 id="recent" class="section-title">
        <a href={linkTo({ page: 'timeline' })}>Changed since you opened this page</a>
      </h2>
      <TimelineList entries={entries} />
    </section>
  );
}

const levelWords: Readonly<Record<Level, string>> = { error: 'Error', warning: 'Warning', info: 'Information' };

function AttentionLine({ item }: { readonly item: AttentionItem }) {
  const { id, level, cluster, namespace, name, reason, text } = item;
  return (
    <li>
      <a href={linkToRow(id)}>
        <StateGlyph state={level} label={levelWords[level]} />
        <span class="what">
          <strong>{name === undefined ? cluster : `${namespace}/${name}`}</strong>
          {name !== undefined && <span class="chip">{cluster}</span>}
          <span class="reason">{reason}</span>
          <span class="text">{text}</span>
        </span>
        <Icon name="chevron" />
      </a>
    </li>
  );
}
