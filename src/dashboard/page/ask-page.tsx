// Ask: a DNS name or an address, and what each cluster answers.
import type { Answer, Answers } from '../view/details.ts';
import { parseId } from '../view/ids.ts';
import type { Route } from '../view/route.ts';
import { linkTo, linkToRow } from '../view/route.ts';
import { pathOf, useData } from './api.ts';
import { Icon, StateGlyph } from './glyphs.tsx';
import type { Store } from './store.ts';

const types = ['A', 'AAAA', 'SRV', 'CNAME', 'TXT', 'PTR', 'NS', 'SOA'] as const;

export function AskPage({ store, route }: { readonly store: Store; readonly route: Route }) {
  const [text, type, cluster] = ['q', 'type', 'cluster'].map((name) => route.query.get(name) ?? '') as [
    string,
    string,
    string,
  ]; // three names
  const path = text === '' ? undefined : pathOf('/api/ask', { text, type: type || 'A', cluster });
  const { value, error, isLoading } = useData<Answers>(path);
  const clusters = [...(store.namespaces.get('')?.rows.values() ?? [])].map((row) => row.cluster);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement); // the form of this handler
    const query = new Map(['q', 'type', 'cluster'].map((name) => [name, fieldOf(form, name)]));
    location.assign(linkTo({ page: 'ask', query }));
  };
  return (
    <div class="ask narrow">
      <h1>Ask</h1>
      <p class="muted">
        Enter a DNS name or an address. The answer is the one that the DNS server of each cluster gives, with the
        objects and rules behind it.
      </p>
      <form class="toolbar" onSubmit={submit}>
        <label class="field search">
          <Icon name="ask" />
          <span class="hidden">Name or address</span>
          <input
            key={text}
            name="q"
            type="search"
            defaultValue={text}
            placeholder="shop.demo.svc.cluster.local or 127.64.0.1"
            spellcheck={false}
            autocomplete="off"
            autofocus
          />
        </label>
        <label class="field">
          <span class="hidden">Type</span>
          <select name="type" key={`type ${type}`}>
            {types.map((each) => (
              <option key={each} selected={each === (type || 'A')}>
                {each}
              </option>
            ))}
          </select>
        </label>
        <label class="field">
          <span class="hidden">Cluster</span>
          <select name="cluster" key={`cluster ${cluster}`}>
            <option value="">All clusters</option>
            {clusters.map((name) => (
              <option key={name} value={name} selected={name === cluster}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <button class="primary" type="submit">
          Ask
        </button>
      </form>
      <div aria-live="polite">
        {isLoading && <p class="loading">Reading the clusters…</p>}
        {error !== undefined && <p class="notice">{error}</p>}
        {value !== undefined && <AnswersView answers={value} />}
      </div>
    </div>
  );
}

function fieldOf(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === 'string' ? value.trim() : '';
}

function AnswersView({ answers: { answers, holders } }: { readonly answers: Answers }) {
  return (
    <>
      {holders.length > 0 && (
        <section class="card facts">
          <h2>Objects with this address</h2>
          <ul class="stack">
            {holders.map(({ cluster, id, text }) => (
              <li key={`${cluster} ${text}`}>
                <Icon name={parseId(id).kind === 'import' ? 'import' : 'service'} />
                <a href={linkToRow(id)}>{text}</a>
                <span class="chip">{cluster}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
      {answers.map((answer) => (
        <AnswerView key={answer.cluster} answer={answer} />
      ))}
    </>
  );
}

function AnswerView({ answer: { cluster, rcode, question, records, why } }: { readonly answer: Answer }) {
  const state = rcode === 'no answer' ? 'idle' : records.length > 0 ? 'ok' : 'warning';
  return (
    <section class="card facts" aria-label={`Answer of ${cluster}`}>
      <h2>
        <StateGlyph state={state} label="" /> {cluster} <span class="chip mono">{rcode}</span>
      </h2>
      <p class="mono muted break">{question}</p>
      {records.length > 0 && (
        <div class="lines">
          <ul>
            {records.map(({ text, note }) => (
              <li key={text}>
                <code>{text}</code>
                {note !== '' && <span class="muted">{note}</span>}
              </li>
            ))}
          </ul>
        </div>
      )}
      <ul class="why">
        {why.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </section>
  );
}
