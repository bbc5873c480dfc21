import { explain, printExplanation } from '../../dns/explain/explain.ts';
import { whyMissing } from '../../dns/explain/missing.ts';
import { Follower } from '../../dns/follow/follower.ts';
import { serverAddresses } from '../../dns/machine.ts';
import { openZones } from '../../dns/records/open-zones.ts';
import { typeNumber } from '../../dnswire/codes.ts';
import { parseName } from '../../dnswire/name.ts';
import { setTimeout } from '../../machine/timers.ts';
import { FatalError, UsageError } from '../errors.ts';
import type { PartAction } from '../part/part.ts';
import { dnsOptionsOf } from './options.ts';

const syncTimeoutMs = 30_000;

/** `fairlead dns query NAME [TYPE]`: reads the cluster as the server does, and prints the answer with its sources. */
export const query: PartAction['run'] = async ({ args, settings, streams, connect }) => {
  const [text = '', typeText = 'A'] = args;
  const name = parseName(text);
  if (name === undefined) throw new UsageError(`"${text}" is not a domain name: labels have 1 to 63 characters`);
  const type = typeNumber(typeText.toUpperCase());
  if (type === undefined)
    throw new UsageError(`"${typeText}" is not a record type: expected one such as A, AAAA or SRV`);
  const { zones: served, namespaces, srvServiceNames, listen } = dnsOptionsOf(settings);
  const options = { ...served, namespaces, srvServiceNames };
  const zones = openZones(served, { addresses: serverAddresses(listen) });
  const follower = new Follower({
    client: await connect(),
    log: { debug: () => {}, warn: () => {} },
    zones,
    records: options,
    changed: () => undefined,
  });
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.reject(new FatalError(`cannot read the cluster: ${follower.unsynced().join('; ')}`));
  }, syncTimeoutMs);
  try {
    await Promise.race([follower.start(), late.promise]);
    const cluster = { caches: follower.caches, options };
    streams.out(printExplanation(explain(zones, { name, type }, { whyMissing: (each) => whyMissing(each, cluster) })));
    return 0;
  } finally {
    clearTimeout(timer);
    await follower.stop();
  }
};
