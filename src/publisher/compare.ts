import type { ZoneInput, ZonePlan } from './plan/changes.ts';
import { planZone } from './plan/changes.ts';
import type { ZoneContent } from './plan/record-set.ts';
import type { Provider } from './providers/provider.ts';

/** Reads a zone and compares it with what is to be in it. */
export async function compare(
  provider: Provider,
  input: Omit<ZoneInput, 'content'>,
  signal: AbortSignal,
): Promise<{ readonly content: ZoneContent; readonly plan: ZonePlan }> {
  const content = await provider.read(input.zone, signal);
  const wanted = provider.adjust === undefined ? input.wanted : await provider.adjust(input.wanted, signal);
  return { content, plan: planZone({ ...input, wanted, content }) };
}
