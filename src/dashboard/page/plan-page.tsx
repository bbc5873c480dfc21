// Plans: the consequences of an export or of a load balancer, before anything is written.
import { useState } from 'preact/hooks';
import type { BalancerPlan, ExportPlanText } from '../view/details.ts';
import { request, textOf } from './api.ts';
import { StateGlyph } from './glyphs.tsx';
import { PlanTable } from './plan-table.tsx';
import { Output } from './scrolled.tsx';
import type { Store } from './store.ts';

export function PlanPage({ store }: { readonly store: Store }) {
  return (
    <div class="plan">
      <h1>Plan</h1>
      <p class="muted">Preview the effect of a change. Nothing is written.</p>
      <div class="columns">
        <ExportForm store={store} />
        <BalancerForm />
      </div>
    </div>
  );
}

/** What a form shows below itself. */
type Outcome<T> =
  | { readonly state: 'none' | 'pending' }
  | { readonly state: 'done'; readonly value: T }
  | { readonly state: 'failed'; readonly text: string };

/** Sends a form; the outcome is of the last one that was sent. */
function useForm<T>(path: string): readonly [Outcome<T>, (event: SubmitEvent) => void] {
  const [outcome, setOutcome] = useState<Outcome<T>>({ state: 'none' });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement); // the form of this handler
    setOutcome({ state: 'pending' });
    request<T>(path, { body: Object.fromEntries(form) }).then(
      (value) => setOutcome({ state: 'done', value }),
      (error: unknown) => setOutcome({ state: 'failed', text: textOf(error) }),
    );
  };
  return [outcome, submit];
}

function Problem({ outcome }: { readonly outcome: Outcome<unknown> }) {
  if (outcome.state === 'pending') return <p class="muted">Planning…</p>;
  return outcome.state === 'failed' ? <p class="notice">{outcome.text}</p> : null;
}

function ExportForm({ store }: { readonly store: Store }) {
  const [outcome, submit] = useForm<ExportPlanText>('/api/plan/export');
  const clusters = [...(store.namespaces.get('')?.rows.values() ?? [])].map((row) => row.cluster);
  return (
    <form class="card facts" aria-labelledby="plan-export" onSubmit={submit}>
      <h2 id="plan-export">Export a Service to the other clusters</h2>
      <div class="form-row">
        <label>
          Change
          <select name="verb">
            <option value="export">export</option>
            <option value="unexport">withdraw the export</option>
          </select>
        </label>
        <label>
          In cluster
          <select name="cluster">
            {clusters.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      </div>
      <label>
        Service
        <input name="service" placeholder="namespace/name" spellcheck={false} autocomplete="off" />
      </label>
      <label>
        or a manifest of a Service or a ServiceExport
        <textarea name="manifest" rows={8} spellcheck={false} placeholder={manifestExample} />
      </label>
      <button class="primary" type="submit">
        Plan the export
      </button>
      <div aria-live="polite">
        <Problem outcome={outcome} />
        {outcome.state === 'done' && (
          <>
            <p class="verdict">
              <StateGlyph state={outcome.value.hasConflicts ? 'error' : 'ok'} label="" />
              {outcome.value.hasConflicts ? 'This would cause problems.' : 'This causes no conflict.'}
            </p>
            <Output label="Plan">{outcome.value.text}</Output>
          </>
        )}
      </div>
    </form>
  );
}

const manifestExample = `apiVersion: v1
kind: Service
metadata: { namespace: shop, name: web }
spec:
  ports: [{ name: http, port: 80 }]`;

const balancerExample = `apiVersion: v1
kind: Service
metadata: { name: sip }
spec:
  type: LoadBalancer
  ports:
    - { name: sip-tcp, port: 5060, protocol: TCP }
    - { name: sip-udp, port: 5060, protocol: UDP }
`;

function BalancerForm() {
  const [outcome, submit] = useForm<readonly BalancerPlan[]>('/api/plan/balancer');
  return (
    <form class="card facts" aria-labelledby="plan-balancer" onSubmit={submit}>
      <h2 id="plan-balancer">Compare the load balancers of clouds</h2>
      <label>
        Manifest of a Service of type LoadBalancer
        <textarea name="manifest" rows={12} spellcheck={false} defaultValue={balancerExample} />
      </label>
      <button class="primary" type="submit">
        Compare
      </button>
      <div aria-live="polite">
        <Problem outcome={outcome} />
        {outcome.state === 'done' &&
          outcome.value.map((plan) => <PlanTable key={plan.service} plan={plan} title={plan.service} />)}
      </div>
    </form>
  );
}
