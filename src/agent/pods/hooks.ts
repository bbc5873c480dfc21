import type { Container } from '../../api/kinds/core/pod/schema.ts';
import type { Clock } from '../../client/clock.ts';
import { sleep } from '../../client/clock.ts';
import type { CheckTarget } from '../probes/check.ts';
import { check } from '../probes/check.ts';

type Hook = NonNullable<NonNullable<Container['lifecycle']>['preStop']>;

/** An HTTP hook without an answer has failed after this time. */
const httpTimeoutMs = 30_000;

/** Runs a hook of a container. Returns why it failed; undefined: it succeeded, or the signal fired first. */
export async function runHook(
  hook: Hook,
  target: CheckTarget,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<string | undefined> {
  if (hook.sleep !== undefined) {
    await sleep(clock, hook.sleep.seconds * 1000, signal);
    return undefined;
  }
  if (hook.exec !== undefined) {
    const command = hook.exec.command ?? [];
    try {
      const { code, output } = await target.exec(command, signal);
      return code === 0 ? undefined : `command ${JSON.stringify(command)} exited with ${code}: ${output}`;
    } catch (error) {
      return signal.aborted ? undefined : String(error);
    }
  }
  if (hook.httpGet === undefined) return undefined;
  const { outcome, output } = await check({ httpGet: hook.httpGet }, target, httpTimeoutMs);
  return outcome === 'success' || signal.aborted ? undefined : output;
}
