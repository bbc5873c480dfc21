import type { Service } from '../../api/kinds/core/service/schema.ts';

/** On a Service: that its backends are checked, and how: `tcp`, or `tcp interval=2s timeout=1s rise=2 fall=3`. */
export const healthCheckAnnotation = 'loadbalancer.fairlead.dev/health-check';

/** How the backends of a Service are checked. */
export interface HealthSettings {
  readonly intervalMs: number;
  readonly timeoutMs: number;
  /** Answers in a row after which a backend that failed counts as well. */
  readonly rise: number;
  /** Failures in a row after which a backend counts as failed. */
  readonly fall: number;
}

/** What an annotation asks for: a check, nothing, or something that cannot be read. */
export type HealthConfig = HealthSettings | 'none' | { readonly problem: string };

const defaults: HealthSettings = { intervalMs: 5000, timeoutMs: 2000, rise: 2, fall: 3 };

/** Reads how the backends of a Service are to be checked. */
export function healthConfigOf({ metadata }: Service): HealthConfig {
  const [how = '', ...words] = (metadata.annotations?.[healthCheckAnnotation] ?? '').trim().split(/\s+/);
  if (how === '') return 'none';
  if (how !== 'tcp') return { problem: `"${how}" is no kind of check: expected tcp` };
  let settings = defaults;
  for (const word of words) {
    const changed = settingIn(word);
    if (changed === undefined) return { problem: `"${word}" is no setting of a check: expected ${expected}` };
    settings = { ...settings, ...changed };
  }
  return settings;
}

const expected = 'interval=5s, timeout=2s, rise=2 or fall=3';

function settingIn(word: string): Partial<HealthSettings> | undefined {
  const [name = '', value = ''] = word.split('=');
  if (name === 'rise' || name === 'fall') return /^[1-9]\d?$/.test(value) ? { [name]: Number(value) } : undefined;
  const [, digits = '', unit = ''] = /^([1-9]\d{0,4})(ms|s)$/.exec(value) ?? [];
  const ms = Number(digits) * (unit === 's' ? 1000 : 1);
  // Below a tenth of a second a check is an attack.
  if (digits === '' || ms < 100) return undefined;
  if (name === 'interval') return { intervalMs: ms };
  return name === 'timeout' ? { timeoutMs: ms } : undefined;
}
