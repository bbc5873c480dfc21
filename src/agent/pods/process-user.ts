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
  agent: User,
): User | undefined {
  const uid = own?.runAsUser ?? ofPod?.runAsUser ?? agent.uid;
  const gid = own?.runAsGroup ?? ofPod?.runAsGroup ?? (uid === agent.uid ? agent.gid : uid);
  if (uid === 0 && (own?.runAsNonRoot ?? ofPod?.runAsNonRoot) === true)
    throw new ConfigError(`container has runAsNonRoot and would run as root (container: ${name})`);
  if (uid === agent.uid && gid === agent.gid) return undefined;
  if (agent.uid === 0) return { uid, gid };
  throw new ConfigError(
    `the agent runs as user ${agent.uid} and may not start processes as user ${uid} and group ${gid}`,
  );
}
