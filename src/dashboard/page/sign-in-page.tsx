// Signing in and out.
import { useState } from 'preact/hooks';
import type { SessionState } from '../view/session.ts';
import { request, textOf, useData } from './api.ts';
import type { RowFeed } from './stream.ts';

const session = '/api/session';

/** What a person sees who is not signed in: how to do so, or a form for tokens. */
export function SignInPage({ feed }: { readonly feed: RowFeed }) {
  const { value, error } = useData<SessionState>(session);
  return (
    <section class="card sign-in">
      <h1>Sign in</h1>
      {error !== undefined && <p class="notice">{error}</p>}
      {value?.clusters !== undefined && <TokenForm clusters={value.clusters} feed={feed} />}
      {value !== undefined && value.clusters === undefined && (
        <p>
          Open the address that <code>fairlead up</code> or <code>fairlead dashboard</code> printed at its start: it
          contains the secret that signs this browser in. An address of an earlier start is no longer valid.
        </p>
      )}
    </section>
  );
}

function TokenForm({ clusters, feed }: { readonly clusters: readonly string[]; readonly feed: RowFeed }) {
  const [error, setError] = useState<string>();
  const [isPending, setPending] = useState(false);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement); // the form of this handler
    setPending(true);
    request('/api/sign-in', { body: Object.fromEntries(form) })
      .then(() => feed.open())
      .catch((failure: unknown) => setError(textOf(failure)))
      .finally(() => setPending(false));
  };
  return (
    <form onSubmit={submit}>
      <p>
        Enter a bearer token for each cluster that you want to see, such as the output of{' '}
        <code>kubectl create token NAME</code>. You see what the cluster lets you list.
      </p>
      {clusters.map((cluster) => (
        <label key={cluster}>
          Token for {cluster}
          <input name={cluster} type="password" autocomplete="off" spellcheck={false} />
        </label>
      ))}
      {error !== undefined && (
        <p class="notice" role="alert">
          {error}
        </p>
      )}
      <button class="primary" type="submit" disabled={isPending}>
        {isPending ? 'Signing in…' : 'Sign in'}
      </button>
    </form>
  );
}

/** Ends a session of tokens; that of a secret ends with the process. */
export function SignOut({ feed }: { readonly feed: RowFeed }) {
  const isLive = feed.state.value === 'live';
  const { value } = useData<SessionState>(isLive ? session : undefined);
  if (value?.canSignOut !== true) return null;
  return (
    <button class="quiet" type="button" onClick={() => void request('/api/sign-out', { body: {} })}>
      Sign out
    </button>
  );
}
