import { takeSnapshot } from '../../src/multicluster/inspect.ts';
import { diff } from '../../src/multicluster/project/diff.ts';
import type { Cluster } from './clusters.ts';
import { entryOf } from './clusters.ts';

/** The writes that are missing anywhere until all members equal the pure merge of all exports, computed from a fresh read. */
export async function differences(clusters: readonly Cluster[], names: readonly string[]): Promise<readonly string[]> {
  await using snapshot = await takeSnapshot(clusters.map(entryOf), { conflictPolicy: 'Withdraw' });
  const keys = new Set([...snapshot.keys(), ...names.map((name) => `shop/${name}`)]);
  return [...keys].flatMap((key) =>
    snapshot.members.flatMap((member) => {
      const { desired, actual } = snapshot.desired(key, member);
      const { writes, foreignObjects } = diff(desired, actual, { now: '' });
      const exporter = snapshot.merged(key).exporters.find(({ cluster }) => cluster === member.id);
      return [
        ...writes.map(({ verb, kind, object }) => `${member.id}: ${verb} ${kind.kind} ${object.metadata.name ?? ''}`),
        ...foreignObjects.map(({ message }) => `${member.id}: ${message}`),
        ...(exporter?.verdict.state === 'leaving' ? [`${member.id}: the export of ${key} is still there`] : []),
      ];
    }),
  );
}
