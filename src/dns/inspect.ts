// Answers of the DNS server with their reasons, computed from a cluster without a running server. Only the command line and
// the dashboard import this file.
import type { Client } from '../client/client.ts';
import { typeNumber } from '../dnswire/codes.ts';
import { parseName } from '../dnswire/name.ts';
import type { DnsOptions } from './options.ts';
import type { ExplainedAnswer } from './explain/explain.ts';
import { explain } from './explain/explain.ts';
import { whyMissing } from './explain/missing.ts';
import { ZoneController } from './controller/zone-controller.ts';
import { serverAddresses } from './machine.ts';
import { openZones } from './records/open-zones.ts';

export type { DnsOptions } from './options.ts';
export { defaultDnsOptions } from './options.ts';
export type { ExplainedAnswer } from './explain/explain.ts';
export { printExplanation } from './explain/explain.ts';
export { reverseName } from './records/addresses.ts';

/** A question in the form that people write it. */
export interface TextQuestion {
  readonly name: string;
  /** Such as `A` or `srv`. */
  readonly type: string;
}

/** The zones of a cluster, kept up to date until they are disposed of. */
export interface DnsInspection extends AsyncDisposable {
  /** Resolves when the cluster was read. */
  readonly synced: Promise<void>;
  /** A sentence for each kind that was not read yet. */
  unsynced(): readonly string[];
  /** Answers a question as the server would, with the objects and rules behind the answer. */
  query(question: Question): ExplainedAnswer;
}

/** A question with a valid name and a known type. */
export type Question = Parameters<typeof explain>[1];

/** Parses a question. Throws an Error with the reason if it is invalid. */
export function parseQuestion({ name: text, type: typeText }: TextQuestion): Question {
  const name = parseName(text);
  if (name === undefined) throw new Error(`"${text}" is not a domain name: labels have 1 to 63 characters`);
  const type = typeNumber(typeText.toUpperCase());
  if (type === undefined) throw new Error(`"${typeText}" is not a record type: expected one such as A, AAAA or SRV`);
  return { name, type };
}

/** Watches a cluster as a DNS server with these options does. */
export function inspectDns(
  client: Client,
  { zones: served, namespaces, srvServiceNames, listen }: DnsOptions,
): DnsInspection {
  const options = { ...served, namespaces, srvServiceNames };
  const zones = openZones(served, { addresses: serverAddresses(listen) });
  const controller = new ZoneController({
    client,
    log: { debug: () => {}, warn: () => {} },
    zones,
    records: options,
    changed: () => undefined,
  });
  const cluster = { caches: controller.caches, options };
  return {
    synced: controller.start(),
    unsynced: () => controller.unsynced(),
    query: (question) => explain(zones, question, { whyMissing: (name) => whyMissing(name, cluster) }),
    [Symbol.asyncDispose]: () => controller.stop(),
  };
}
