import type { Service } from '../../api/kinds/core/service/schema.ts';

/** Enables health checks of the backends: `tcp`, or `tcp interval=2s timeout=1s rise=2 fall=3`. */
export const healthCheckAnnotation = 'loadbalancer.fairlead.dev/health-check';

export interface HealthSettings {
  readonly intervalMs: number;
  readonly timeoutMs: number;
  /** Consecutive successes after which a backend is healthy. */
  readonly rise: number;
  /** Consecutive failures after which a backend is unhealthy. */
  readonly fall: number;
}

/** The parsed annotation: settings, none, or an error. */
export type HealthConfig = HealthSettings | 'none' | { readonly problem: string };

const defaults: HealthSettings = { intervalMs: 5000, timeoutMs: 2000, rise: 2, fall: 3 };

/** Parses the annotation of a Service. */
export function healthConfigOf({ metadata }: Service): HealthConfig {
  const [how = '', ...words] = (metadata.annotations?.[healthCheckAnnotation] ?? '').trim().split(/\s+/);
  if (how === '') return 'none';
  if (how !== 'tcp') return { problem: `"${how}" is not a type of check: expected tcp` };
  let settings = defaults;
  for (const word of words) {
    const changed = settingIn(word);
    if (changed === undefined) return { problem: `"${word}" is not a setting: expected ${expected}` };
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
  // A shorter interval would overload backends.
  if (digits === '' || ms < 100) return undefined;
  if (name === 'interval') return { intervalMs: ms };
  return name === 'timeout' ? { timeoutMs: ms } : undefined;
}
