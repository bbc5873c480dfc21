import { retryLevel } from '../../client/watch-errors.ts';
import type { Member } from './member.ts';

/** The log level of a failed request to a member. While the member does not answer, every request fails; that is logged once. */
export const memberErrorLevel = (
  { probe }: { readonly probe: Pick<Member['probe'], 'state'> },
  error: unknown,
): 'warn' | 'debug' => (probe.state === 'alive' ? retryLevel(error) : 'debug');
