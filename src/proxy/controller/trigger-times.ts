import type { IpFamily } from '../../api/addresses.ts';
import { triggerTimeAnnotation } from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';

/** Changes that are kept between two syncs; further ones are not measured. */
const maxTimes = 10_000;

/** The times of endpoint changes that are not synced yet, for the programming latency. */
export class TriggerTimes {
  readonly #sinceMs: number;
  #times: { readonly family: IpFamily; readonly atMs: number }[] = [];

  /** Ignores changes before `sinceMs`: they are older than this proxy. */
  constructor(sinceMs: number) {
    this.#sinceMs = sinceMs;
  }

  add({ metadata: { annotations }, addressType }: EndpointSlice): void {
    const atMs = Date.parse(annotations?.[triggerTimeAnnotation] ?? '');
    if (Number.isNaN(atMs) || atMs < this.#sinceMs || addressType === 'FQDN' || this.#times.length >= maxTimes) return;
    this.#times.push({ family: addressType, atMs });
  }

  /** Returns and removes all times. */
  take(): readonly { readonly family: IpFamily; readonly atMs: number }[] {
    const times = this.#times;
    this.#times = [];
    return times;
  }
}
