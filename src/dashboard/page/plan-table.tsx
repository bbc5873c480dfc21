import type { BalancerPlan } from '../view/details.ts';
import { StateGlyph } from './glyphs.tsx';
import { Scrolled } from './scrolled.tsx';

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
