import { messageOf } from '../../api/error-message.ts';
import { explain, printExplanation } from '../../dns/explain/explain.ts';
import { whyMissing } from '../../dns/explain/missing.ts';
import { Follower } from '../../dns/follow/follower.ts';
import { reachedAt } from '../../dns/machine.ts';
import { openZones } from '../../dns/records/open-zones.ts';
import { typeNumber } from '../../dnswire/codes.ts';
import { parseName } from '../../dnswire/name.ts';
import { setTimeout } from '../../machine/timers.ts';
import { FatalError, UsageError } from '../errors.ts';
import type { PartAction } from '../part/part.ts';
import { dnsOptionsOf } from './options.ts';

const patienceMs = 30_000;

/** `fairlead dns query NAME [TYPE]`: reads the cluster as the server does, and tells the answer and why it is that. */
export const query: PartAction['run'] = async ({ args, settings, streams, connect }) => {
  const [text, typeText = 'A', ...more] = args;
  if (text === undefined || more.length > 0) throw new UsageError('expected `fairlead dns query NAME [TYPE]`');
  const name = parseName(text);
  if (name === undefined) throw new UsageError(`"${text}" is no domain name: labels have 1 to 63 characters`);
  const type = typeNumber(typeText.toUpperCase());
  if (type === undefined) throw new UsageError(`"${typeText}" is no record type: expected one such as A, AAAA or SRV`);
  const { zones: served, namespaces, srvServiceNames, listen } = dnsOptionsOf(settings);
  const options = { ...served, namespaces, srvServiceNames };
  const zones = openZones(served, { addresses: reachedAt(listen) });
  const stop = new AbortController();
  let trouble: unknown;
  const follower = new Follower({
    client: await connect(),
    zones,
    records: options,
    changed: () => undefined,
    onError: (error) => (trouble = error),
  });
  const following = follower.run(stop.signal);
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const why = trouble === undefined ? 'it did not answer' : messageOf(trouble);
    late.reject(new FatalError(`cannot read the cluster: ${why}`, { cause: trouble }));
  }, patienceMs);
  try {
    await Promise.race([follower.synced, late.promise]);
    const cluster = { caches: follower.caches, options };
    streams.out(printExplanation(explain(zones, { name, type }, { whyMissing: (each) => whyMissing(each, cluster) })));
    return 0;
  } finally {
    clearTimeout(timer);
    stop.abort();
    await following;
  }
};
