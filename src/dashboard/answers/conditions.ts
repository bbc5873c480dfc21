// Conditions in plain words.
import type { ConditionRow } from '../view/details.ts';

/** A condition of any kind. */
export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

/** Type → what it means if it is true and if it is not, the good case first. */
const meanings: Readonly<
  Record<string, { readonly good: 'True' | 'False'; readonly True: string; readonly False: string }>
> = {
  Initialized: { good: 'True', True: 'the export was accepted', False: 'the export was not accepted' },
  Valid: { good: 'True', True: 'the Service can be exported', False: 'the Service cannot be exported' },
  Exported: { good: 'True', True: 'all clusters have the import', False: 'not all clusters have the import yet' },
  Ready: { good: 'True', True: 'it can be used', False: 'it cannot be used everywhere yet' },
  Conflict: { good: 'False', True: 'clusters that export it disagree', False: 'clusters that export it agree' },
  LoadBalancerPortsError: {
    good: 'False',
    True: 'the load balancer does not serve all ports',
    False: 'the load balancer serves all ports',
  },
  LoadBalancerMixedProtocolNotSupported: {
    good: 'False',
    True: 'the load balancer cannot combine TCP and UDP',
    False: 'the load balancer accepts its protocols',
  },
};

/** The rows of the conditions of an object. */
export const conditionRows = (object: string, conditions: readonly Condition[] = []): readonly ConditionRow[] =>
  conditions.map(({ type, status, reason = '', message = '' }) => {
    const known = meanings[type];
    const isKnown = status === 'True' || status === 'False';
    return {
      object,
      type,
      status,
      reason,
      message,
      meaning: known === undefined ? '' : isKnown ? known[status] : 'not known yet',
      isGood: known === undefined || known.good === status,
    };
  });
