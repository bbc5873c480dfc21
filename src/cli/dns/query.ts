import { messageOf } from '../../api/error-message.ts';
import type { Question } from '../../dns/inspect.ts';
import { inspectDns, parseQuestion, printExplanation } from '../../dns/inspect.ts';
import { setTimeout } from '../../machine/timers.ts';
import { FatalError, UsageError } from '../errors.ts';
import type { PartAction } from '../part/part.ts';
import { dnsOptionsOf } from './options.ts';

const syncTimeoutMs = 30_000;

/** `fairlead dns query NAME [TYPE]`: reads the cluster as the server does, and prints the answer with its sources. */
export const query: PartAction['run'] = async ({ args, streams, connect, settingsInCluster }) => {
  const [name = '', type = 'A'] = args;
  const question = questionOf(name, type);
  const { settings } = await settingsInCluster();
  const options = dnsOptionsOf(settings);
  await using inspection = inspectDns(await connect(), options);
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.reject(new FatalError(`cannot read the cluster: ${inspection.unsynced().join('; ')}`));
  }, syncTimeoutMs);
  try {
    await Promise.race([inspection.synced, late.promise]);
  } finally {
    clearTimeout(timer);
  }
  streams.out(printExplanation(inspection.query(question)));
  return 0;
};

function questionOf(name: string, type: string): Question {
  try {
    return parseQuestion({ name, type });
  } catch (error) {
    throw new UsageError(messageOf(error), { cause: error });
  }
}
