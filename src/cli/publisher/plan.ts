import { Informers } from '../../client/informers.ts';
import { systemClock } from '../../client/clock.ts';
import { setTimeout } from '../../machine/timers.ts';
import type { Name } from '../../dnswire/data.ts';
import { Comparison } from '../../publisher/compare.ts';
import type { PlanOptions } from '../../publisher/options.ts';
import type { NameChange } from '../../publisher/plan/changes.ts';
import type { DesiredSet, ObjectRefusal } from '../../publisher/plan/desired.ts';
import { DesiredIndex } from '../../publisher/plan/desired-index.ts';
import type { RecordSet } from '../../publisher/plan/record-set.ts';
import { Sources } from '../../publisher/sources.ts';
import { FatalError } from '../errors.ts';
import { columns } from '../../api/text.ts';
import { rendered } from '../output.ts';
import type { ActionCall } from '../part/part.ts';
import type { LoadProvider } from './provider.ts';

const timeoutMs = 30_000;

/** A change of one set, for people and programs. */
interface Row {
  readonly change: 'create' | 'update' | 'delete';
  readonly zone: string;
  readonly name: string;
  readonly type: string;
  readonly ttl: number;
  readonly values: readonly string[];
  /** The values before an update. */
  readonly before?: readonly string[];
  readonly objects: readonly string[];
}

/** `fairlead publisher plan`: compares the zones with the cluster. */
export async function printPlan(
  { settings, streams, connect }: ActionCall,
  options: PlanOptions,
  loadProvider: LoadProvider,
): Promise<number> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), timeoutMs);
  const informers = new Informers({ client: await connect(), log: { debug: () => {}, warn: () => {} } });
  await using provider = (await loadProvider())({
    clock: systemClock,
    onMessage: () => undefined,
    onWebhookCall: () => undefined,
  });
  try {
    const sources = new Sources(informers, options);
    await sources.synced(late.signal).catch((error: unknown) => {
      throw new FatalError(`cannot read the cluster: ${informers.unsynced().join('; ')}`, { cause: error });
    });
    const zones = await provider.zones(late.signal);
    const index = new DesiredIndex({ zones, filter: options.filter, registry: options.registry });
    index.update(sources.claimsOf(sources.keys()));
    const kept = { resources: index.kept, allImports: !sources.hasImports };
    const rows: Row[] = [];
    const conflicts: ObjectRefusal[] = [...index.refusals];
    for (const zone of zones) {
      const desired = index.zones.get(zone) ?? new Map<Name, readonly DesiredSet[]>();
      const comparison = new Comparison({ ...options, provider, zone });
      const { changes, refusals } = (await comparison.run({ desired, kept }, [], late.signal)).plan;
      rows.push(...changes.flatMap((change) => rowsOf(zone, change)));
      conflicts.push(...refusals);
    }
    streams.out(await rendered(settings, { changes: rows, conflicts }, () => linesOf(rows, conflicts)));
    return 0;
  } finally {
    clearTimeout(timer);
    await informers.stop();
  }
}

const rowsOf = (zone: string, { changes, resources }: NameChange): readonly Row[] =>
  changes.flatMap(({ before, after }) => {
    const set = after ?? before;
    if (set === undefined || before === after) return [];
    return [
      {
        change: kindOf(before, after),
        zone,
        ...set,
        ...(before !== undefined && after !== undefined ? { before: before.values } : {}),
        objects: resources,
      },
    ];
  });

const kindOf = (before: RecordSet | undefined, after: RecordSet | undefined): Row['change'] => {
  if (before === undefined) return 'create';
  return after === undefined ? 'delete' : 'update';
};

function linesOf(rows: readonly Row[], conflicts: readonly ObjectRefusal[]): readonly string[] {
  const table = rows.map(({ change, type, name, ttl, values, objects }) => [
    change,
    type,
    name,
    String(ttl),
    values.join(', '),
    type === 'TXT' ? '' : objects.join(', '),
  ]);
  const problems = conflicts.map(({ resource, message, reason }) => `${reason}  ${resource}: ${message}`);
  return [
    ...(table.length === 0
      ? ['nothing to change']
      : columns([['CHANGE', 'TYPE', 'NAME', 'TTL', 'VALUES', 'OBJECTS'], ...table])),
    ...(problems.length === 0 ? [] : ['', ...problems]),
  ];
}
