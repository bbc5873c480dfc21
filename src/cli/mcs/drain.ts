// `fairlead mcs drain` and `undrain`.
import { setTimeout as delay } from 'node:timers/promises';
import { clusterMemberKind } from '../../api/kinds/multicluster/clustermember/kind.ts';
import type { ControllerOptions, DrainProgress, Snapshot } from '../../multicluster/inspect.ts';
import { drainText, takeSnapshot } from '../../multicluster/inspect.ts';
import { FatalError } from '../errors.ts';
import { setOfObjects } from './cluster-set.ts';
import { entriesOf } from './entries.ts';
import { readMembers } from './follow-members.ts';
import type { Hub } from './hub.ts';
import { membersIn, openCluster } from './hub.ts';
import type { FileMember } from './members-file.ts';
import { changeMember } from './membership.ts';

/** Where the members are configured. */
export type MemberSource = { readonly file: string } | { readonly hub: Hub };

/** Sets whether a member drains. Throws if there is no such member. */
export async function setDraining(source: MemberSource, id: string, draining: boolean): Promise<void> {
  if ('file' in source)
    return changeMember(source.file, id, ({ draining: _draining, ...member }: FileMember) =>
      draining ? { ...member, draining } : member,
    );
  const { hub } = source;
  using home = await openCluster(hub);
  const members = await membersIn(home, hub);
  if (!members.some(({ metadata }) => metadata.name === id)) {
    const known = members.map(({ metadata }) => metadata.name ?? '').toSorted();
    throw new FatalError(
      `"${id}" is not a member: namespace ${hub.namespace} has ${known.length === 0 ? 'none' : known.join(', ')}`,
    );
  }
  const name = { namespace: hub.namespace, name: id };
  await home.client.patch(clusterMemberKind, name, { body: { spec: { draining: draining ? true : null } } });
}

const stepMs = 250;

/** Waits until other clusters use no more of the cluster's ready endpoints than they must, and returns the result as a sentence. */
export async function drained(
  source: MemberSource,
  id: string,
  { timeoutMs, ...options }: ControllerOptions & { readonly timeoutMs: number },
): Promise<string> {
  const entries =
    'file' in source
      ? entriesOf(await readMembers(source.file), source.file)
      : (await setOfObjects(source.hub)).entries;
  await using snapshot = await takeSnapshot(entries, options);
  for (const end = performance.now() + timeoutMs; ; await delay(stepMs)) {
    await snapshot.renew();
    const progress = snapshot.drain(id);
    if (progress.pending.length === 0) return `${id} is drained: ${textOf(progress, snapshot, id)}`;
    if (performance.now() < end) continue;
    throw new FatalError(
      `${id} drains, and ${drainText(progress)}: check that \`fairlead multicluster\` runs; \`fairlead mcs list\` shows the progress`,
    );
  }
}

/** Endpoints in clusters that cannot be read are not known. */
function textOf(progress: DrainProgress, snapshot: Snapshot, id: string): string {
  const unread = snapshot.members.filter((each) => each.id !== id && !each.isReady).map((each) => each.id);
  const text = drainText(progress);
  return unread.length === 0 ? text : `${text}; ${unread.join(', ')} could not be read`;
}
