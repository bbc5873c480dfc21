import type { ClusterProperty } from '../../api/kinds/about/clusterproperty/kind.ts';
import {
  clusterIdProperty,
  clusterPropertyKind,
  clusterSetProperty,
} from '../../api/kinds/about/clusterproperty/kind.ts';
import { hasStatusCode } from '../../client/transport.ts';
import type { Member } from '../member/member.ts';

/**
 * Writes into a cluster which one of the set it is (KEP-2149). The result is what keeps it from being that one; a cluster
 * whose server does not serve properties is taken as it is.
 */
export async function joinSet(member: Member, setName: string, signal: AbortSignal): Promise<string | undefined> {
  const id = await propertyIn(member, clusterIdProperty, signal);
  if (id !== undefined && id.spec?.value !== member.id) {
    return `cluster ${member.id} says that it is ${id.spec?.value ?? ''} (ClusterProperty ${clusterIdProperty}): join it under that id, or delete the property`;
  }
  try {
    if (id === undefined)
      await member.client.create(clusterPropertyKind, property(clusterIdProperty, member.id), { signal });
    const set = await propertyIn(member, clusterSetProperty, signal);
    if (set === undefined) {
      await member.client.create(clusterPropertyKind, property(clusterSetProperty, setName), { signal });
    }
  } catch (error) {
    // Not served, or somebody was quicker.
    if (!hasStatusCode(error, 404) && !hasStatusCode(error, 409)) throw error;
  }
  return undefined;
}

/** Removes what `joinSet` wrote. */
export async function leaveSet(member: Member, signal: AbortSignal): Promise<void> {
  const id = await propertyIn(member, clusterIdProperty, signal);
  if (id?.spec?.value !== member.id) return;
  for (const name of [clusterSetProperty, clusterIdProperty]) {
    await member.client.delete(clusterPropertyKind, { name }, { signal });
  }
}

const propertyIn = (member: Member, name: string, signal: AbortSignal): Promise<ClusterProperty | undefined> =>
  member.client.find(clusterPropertyKind, { name }, { signal });

const property = (name: string, value: string): ClusterProperty => ({ metadata: { name }, spec: { value } });
