// What is known of a Service or an import, besides its connections.
import type { ComponentChildren } from 'preact';
import type { ConditionRow, Details } from '../view/details.ts';
import { linkTo } from '../view/route.ts';
import type { EventRow, ImportRow, PortRow, ServiceRow } from '../view/rows.ts';
import { timeText } from '../view/text.ts';
import { StateGlyph } from './glyphs.tsx';
import { Scrolled } from './scrolled.tsx';

function Section({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <section class="card facts" aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/** Addresses, ports and SRV names. */
export function Ports({ row, srv }: { readonly row: ServiceRow | ImportRow; readonly srv: Details['srv'] }) {
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

/** Labels, as links to what has the same ones. */
export function Labels({ labels }: Pick<ServiceRow, 'labels'>) {
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

/** Conditions in plain words. */
export function Conditions({ conditions }: { readonly conditions: readonly ConditionRow[] }) {
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

/** Events, the newest first. */
export function Events({ events }: { readonly events: readonly EventRow[] }) {
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
