// The clusters, and what needs attention first.
import { useState } from 'preact/hooks';
import { clusterId } from '../view/ids.ts';
import type { AttentionGroup, ClusterOverview, Overview } from '../view/overview.ts';
import { groupAttention } from '../view/overview.ts';
import { linkTo, linkToRow } from '../view/route.ts';
import type { Level } from '../view/rows.ts';
import { countText } from '../view/text.ts';
import { Icon, StateGlyph } from './glyphs.tsx';
import type { Store, TimelineEntry } from './store.ts';
import { TimelineList } from './timeline-page.tsx';

export function OverviewPage({ store }: { readonly store: Store }) {
  const overview = store.overview.value;
  const attention = groupAttention(overview.attention);
  return (
    <div class="overview">
      <h1>{headline(overview.clusters, attention)}</h1>
      <div class="clusters">
        {overview.clusters.map((cluster) => (
          <ClusterCard key={cluster.cluster} cluster={cluster} attention={overview.attention} />
        ))}
      </div>
      <Attention attention={attention} />
      <Recent entries={store.timeline.value.slice(0, 6)} />
    </div>
  );
}

function headline(clusters: Overview['clusters'], attention: readonly AttentionGroup[]): string {
  const lost = clusters.filter(({ state }) => state === 'lost').length;
  const { errors, warnings } = levelsOf(attention);
  if (lost > 0) return `${countText(lost, 'cluster')} of ${clusters.length} lost`;
  if (errors > 0) return `${countText(errors, 'error')} to look at`;
  if (warnings > 0) return `${countText(warnings, 'warning')}, nothing broken`;
  return 'Nothing needs attention';
}

function levelsOf(items: readonly Pick<AttentionGroup, 'level'>[]): {
  readonly errors: number;
  readonly warnings: number;
} {
  const errors = items.filter(({ level }) => level === 'error').length;
  return { errors, warnings: items.length - errors };
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
  // Nothing is known of a cluster that has not answered since the start.
  const isKnown = cluster.version !== undefined || cluster.services > 0;
  const { errors, warnings } = levelsOf(attention.filter((item) => item.cluster === cluster.cluster));
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
        <Number value={isKnown ? cluster.services : undefined} noun="Services" />
        <Number value={isKnown ? cluster.exports : undefined} noun="exported" />
        <Number value={isKnown ? cluster.imports : undefined} noun="imported" />
        <Number value={isKnown ? cluster.loadBalancers : undefined} noun="load balancers" />
      </dl>
      <Meter ready={ready} notReady={notReady} terminating={terminating} />
      <footer class="muted">
        <span>
          {total > 0 && `${ready.toLocaleString('en')} of ${countText(total, 'endpoint')} ready`}
          {total === 0 && (isKnown ? 'no endpoints' : 'not read yet')}
        </span>
        <span>{cluster.state === 'lost' ? 'does not answer' : answerText(cluster.answerMs)}</span>
        <span class="problems">
          {errors > 0 && <Problems level="error" count={errors} />}
          {warnings > 0 && <Problems level="warning" count={warnings} />}
        </span>
      </footer>
    </article>
  );
}

function Problems({ level, count }: { readonly level: 'error' | 'warning'; readonly count: number }) {
  return (
    <span class={`is-${level}`}>
      <StateGlyph state={level} label="" /> {countText(count, level)}
    </span>
  );
}

const answerText = (ms: number | undefined): string => (ms === undefined ? '' : `answers in ${ms} ms or less`);

function Number({ value, noun }: { readonly value: number | undefined; readonly noun: string }) {
  return (
    <div>
      <dt>{noun}</dt>
      <dd>{value?.toLocaleString('en') ?? '–'}</dd>
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

function Attention({ attention }: { readonly attention: readonly AttentionGroup[] }) {
  const [shown, setShown] = useState(firstItems);
  const hidden = attention.length - shown;
  const { errors, warnings } = levelsOf(attention);
  return (
    <section class="card attention" aria-labelledby="attention">
      <header>
        <h2 id="attention">Needs attention</h2>
        <span class="muted">
          {countText(errors, 'error')}, {countText(warnings, 'warning')}
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

/** It links to the first cluster with the problem; the page there links to the others. */
function AttentionLine({ item }: { readonly item: AttentionGroup }) {
  const { id, level, cluster, clusters, namespace, name, reason, text } = item;
  return (
    <li>
      <a href={linkToRow(id)}>
        <StateGlyph state={level} label={levelWords[level]} />
        <span class="what">
          <strong>{name === undefined ? cluster : `${namespace}/${name}`}</strong>
          {name !== undefined &&
            clusters.map((each) => (
              <span key={each} class="chip">
                {each}
              </span>
            ))}
          <span class="reason">{reason}</span>
          <span class="text">{text}</span>
        </span>
        <Icon name="chevron" />
      </a>
    </li>
  );
}
