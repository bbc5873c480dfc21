import { yieldToEventLoop } from '../../machine/timers.ts';
import type { NameChange } from '../plan/changes.ts';
import type { Failure } from './provider.ts';

/** Why a batch was not applied. */
export type Problem = Omit<Failure, 'change'>;

/** The most batches that may fail in one `apply`: a server that rejects everything does not get a request for every name. */
const maxFailedBatches = 100;

/** Sends batches. One bad record fails its whole batch: a batch that fails is halved until the bad ones are alone. */
export async function sendBatches<T extends { readonly change: NameChange }>(
  batches: readonly (readonly T[])[],
  send: (batch: readonly T[]) => Promise<Problem | undefined>,
): Promise<readonly Failure[]> {
  const failures: Failure[] = [];
  let failed = 0;
  const pending = [...batches].reverse();
  for (let batch = pending.pop(); batch !== undefined; batch = pending.pop()) {
    const problem = await send(batch);
    if (problem === undefined) continue;
    failed++;
    if (batch.length > 1 && failed < maxFailedBatches) {
      const middle = batch.length >> 1;
      pending.push(batch.slice(middle), batch.slice(0, middle));
    } else failures.push(...batch.map(({ change }) => ({ change, ...problem })));
    await yieldToEventLoop();
  }
  return failures;
}
