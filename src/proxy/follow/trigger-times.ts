import type { IpFamily } from '../../api/addresses.ts';
import { triggerTimeAnnotation } from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';

/** How many are kept between two syncs; with more than that the rest are not measured. */
const most = 10_000;

/** When changes of endpoints happened that no sync has answered yet, for how long it takes until they hold. */
export class TriggerTimes {
  readonly #sinceMs: number;
  #times: { readonly family: IpFamily; readonly atMs: number }[] = [];

  /** Changes from before `sinceMs` are history, and say nothing about this proxy. */
  constructor(sinceMs: number) {
    this.#sinceMs = sinceMs;
  }

  note({ metadata: { annotations }, addressType }: EndpointSlice): void {
    const atMs = Date.parse(annotations?.[triggerTimeAnnotation] ?? '');
    if (Number.isNaN(atMs) || atMs < this.#sinceMs || addressType === 'FQDN' || this.#times.length >= most) return;
    this.#times.push({ family: addressType, atMs });
  }

  /** Everything noted since it was last taken. */
  take(): readonly { readonly family: IpFamily; readonly atMs: number }[] {
    const times = this.#times;
    this.#times = [];
    return times;
  }
}
