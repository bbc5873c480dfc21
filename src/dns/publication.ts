import type { CompletionOptions } from './answer/completion.ts';
import { isSearched } from './answer/completion.ts';
import type { PrepareOptions } from './answer/prepare.ts';
import { prepare, prepareZone } from './answer/prepare.ts';
import type { AnswerSink } from './prepared.ts';
import type { Name } from '../dnswire/data.ts';
import type { Zone, Zones } from './records/zones.ts';

export interface PublicationOptions {
  readonly zones: Zones;
  /** Where workers read. */
  readonly sink: AnswerSink;
  /** As the slow path has it. */
  readonly completion?: CompletionOptions;
}

/**
 * Keeps the prepared answers as the zones say. Before it is opened nothing is there, so that workers ask for every name:
 * what has not been read yet must not be denied.
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

  /** Everything has been read: answers are given from now on. */
  open(): void {
    this.#isOpen = true;
    for (const zone of this.#zones.zones) {
      for (const name of this.#zones.names(zone.apex)) this.#put(name);
      this.#sink.putZone(prepareZone(zone));
    }
  }

  /** These names have another answer now. */
  changed(names: readonly Name[]): void {
    if (!this.#isOpen) return;
    const touched = new Set<Zone>();
    for (const name of names) {
      this.#put(name);
      const zone = this.#zones.zoneOf(name);
      if (zone !== undefined) touched.add(zone);
    }
    for (const zone of touched) {
      this.#put(zone.apex); // its SOA has another serial
      this.#sink.putZone(prepareZone(zone));
    }
  }

  #put(name: Name): void {
    const prepared = prepare(this.#zones, name, this.#prepare);
    if (prepared === undefined) this.#sink.delete(name);
    else this.#sink.put(prepared);
  }
}
