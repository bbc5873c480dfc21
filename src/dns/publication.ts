import type { CompletionOptions } from './answer/completion.ts';
import { isSearched } from './answer/completion.ts';
import type { PrepareOptions } from './answer/prepare.ts';
import { prepare, prepareZone } from './answer/prepare.ts';
import type { AnswerSink } from './prepared.ts';
import type { Name } from '../dnswire/data.ts';
import type { Zone, Zones } from './records/zones.ts';

export interface PublicationOptions {
  readonly zones: Zones;
  /** The table of the workers. */
  readonly sink: AnswerSink;
  /** The same as of the slow path. */
  readonly completion?: CompletionOptions;
}

/**
 * Keeps the prepared answers in step with the zones. Until `open` the table is empty, so that workers pass every query to
 * the slow path: names must not be denied before the first sync.
 */
export class Publication {
  readonly #zones: Zones;
  readonly #sink: AnswerSink;
  readonly #prepare: PrepareOptions;
  #isOpen = false;

  constructor({ zones, sink, completion }: PublicationOptions) {
    this.#zones = zones;
    this.#sink = sink;
    this.#prepare = completion === undefined ? {} : { isSlowBelow: ({ name }) => isSearched(name, completion) };
  }

  /** The first sync is complete: publishes all names. */
  open(): void {
    this.#isOpen = true;
    for (const zone of this.#zones.zones) {
      for (const name of this.#zones.names(zone.apex)) this.#put(name);
      this.#sink.putZone(prepareZone(zone));
    }
  }

  /** Publishes these names again, and the SOA records of their zones. */
  changed(names: readonly Name[]): void {
    if (!this.#isOpen) return;
    const touched = new Set<Zone>();
    for (const name of names) {
      this.#put(name);
      const zone = this.#zones.zoneOf(name);
      if (zone !== undefined) touched.add(zone);
    }
    for (const zone of touched) {
      this.#put(zone.apex); // the serial of its SOA changed
      this.#sink.putZone(prepareZone(zone));
    }
  }

  #put(name: Name): void {
    const prepared = prepare(this.#zones, name, this.#prepare);
    if (prepared === undefined) this.#sink.delete(name);
    else this.#sink.put(prepared);
  }
}
