import type { Container, Pod } from '../../api/kinds/core/pod/schema.ts';
import { ConfigError } from '../environment/variables.ts';
import type { User } from '../processes/main-process.ts';

/**
 * The user of a container's processes; undefined: the user of the agent. Throws a ConfigError if the agent may not switch to
 * it, or if it must not be root.
 */
export function processUser(
  { spec: { securityContext: ofPod } }: Pod,
  { name, securityContext: own }: Pick<Container, 'name' | 'securityContext'>,
  agent: Omit<User, 'groups'>,
): User | undefined {
  const uid = own?.runAsUser ?? ofPod?.runAsUser ?? agent.uid;
  const gid = own?.runAsGroup ?? ofPod?.runAsGroup ?? (uid === agent.uid ? agent.gid : uid);
  if (uid === 0 && (own?.runAsNonRoot ?? ofPod?.runAsNonRoot) === true)
    throw new ConfigError(`container has runAsNonRoot and would run as root (container: ${name})`);
  const groups = groupsOf(ofPod);
  if (uid === agent.uid && gid === agent.gid && groups.length === 0) return undefined;
  if (agent.uid === 0) return { uid, gid, groups };
  if (uid === agent.uid && gid === agent.gid)
    throw new ConfigError(
      `the agent runs as user ${agent.uid} and may not start processes with groups ${groups.join(', ')}`,
    );
  throw new ConfigError(
    `the agent runs as user ${agent.uid} and may not start processes as user ${uid} and group ${gid}`,
  );
}

type PodSecurity = Pod['spec']['securityContext'];

/** The supplementary groups, with that of the volumes. */
const groupsOf = ({ supplementalGroups = [], fsGroup }: NonNullable<PodSecurity> = {}): readonly number[] => [
  ...new Set([...supplementalGroups.map(Number), ...(fsGroup === undefined ? [] : [Number(fsGroup)])]),
];
