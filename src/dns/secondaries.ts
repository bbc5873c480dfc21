import { parseCidr } from '../api/addresses.ts';
import { Journal } from './answer/journal.ts';
import { Notifier } from './answer/notify.ts';
import { Transfers } from './answer/transfer.ts';
import type { DnsOptions } from './config.ts';
import type { Name } from '../dnswire/data.ts';
import type { Zones } from './records/zones.ts';

/** Those who keep copies of the zones: what they may have, and what they are told. */
export interface Secondaries {
  readonly transfers: Pick<Transfers, 'respond'>;
  changed(names: readonly Name[]): void;
  /** The zones are complete: from here on changes are remembered. */
  open(): void;
}

/** Serves the secondaries that the options name; none by default. */
export function serveSecondaries(
  zones: Zones,
  { to, notify }: DnsOptions['transfer'],
  signal: AbortSignal,
): Secondaries {
  const notifier = new Notifier({ secondaries: notify, signal });
  const allow = to.flatMap((range) => parseCidr(range) ?? []);
  let journal: Journal | undefined;
  let transfers = new Transfers(zones, { allow });
  return {
    transfers: { respond: (query, asker, reply) => transfers.respond(query, asker, reply) },
    changed(names) {
      for (const zone of journal?.record(names) ?? []) notifier.notify(zone);
    },
    open() {
      if (allow.length === 0 && notify.length === 0) return;
      journal = new Journal(zones);
      transfers = new Transfers(zones, { allow, journal });
    },
  };
}
