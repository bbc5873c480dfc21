import type { Name } from '../../dnswire/data.ts';
import type { NameChange } from '../plan/changes.ts';
import type { DesiredSets } from '../plan/desired.ts';
import type { ZoneContent } from '../plan/record-set.ts';

/** A change that was not applied. */
export interface Failure {
  readonly change: NameChange;
  /** `stale`: the zone has changed since it was read. `rejected`: the server does not accept the change. */
  readonly state: 'stale' | 'rejected';
  readonly message: string;
}

/** What a provider read. */
export interface ZoneReading {
  readonly content: ZoneContent;
  /** The names whose sets may differ from the last reading; undefined: any. */
  readonly changed: ReadonlySet<Name> | undefined;
}

/** The most records of a zone that is read, which need about 2 GB of memory. */
export const maxZoneRecords = 1_000_000;

/**
 * Where records are written. One caller reads a zone, plans, and applies changes to what it read; calls for one zone never
 * overlap. Every call rejects with a ProviderError if the provider cannot be used at all.
 */
export interface Provider extends AsyncDisposable {
  /** The zones that can be written to. */
  zones(signal: AbortSignal): Promise<readonly Name[]>;
  /** The current content of a zone. */
  read(zone: Name, signal: AbortSignal): Promise<ZoneReading>;
  /** Applies changes to the content that was read last. Returns those that failed; all others are applied. */
  apply(zone: Name, changes: readonly NameChange[], signal: AbortSignal): Promise<readonly Failure[]>;
  /** The sets as the provider would store them, where that differs. */
  readonly adjust?: (desired: DesiredSets, signal: AbortSignal) => Promise<DesiredSets>;
}

/** The provider cannot be used at the moment: a sentence for people, with what to do. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
}
