// The mounts of a container. No clock, no I/O.
import { join, normalize } from 'node:path';
import type { Container } from '../../api/kinds/core/pod/schema.ts';
import { ConfigError } from '../environment/variables.ts';
import type { Mount } from '../processes/launch.ts';
import { expand } from '../environment/expand.ts';

/** A mount whose source may be a path of a volume. */
export interface ContainerMount extends Mount {
  /** The directory that the source must not leave by symbolic links; undefined: it may be anything. */
  readonly within?: string;
}

export interface MountInput {
  /** Volume → its directory. */
  readonly volumes: ReadonlyMap<string, string>;
  /** Volumes that are never written by containers. */
  readonly readOnlyVolumes: ReadonlySet<string>;
  readonly resolverFile: string;
  readonly hostsFile: string;
  readonly messageFile: string;
  readonly variables: Readonly<Record<string, string>>;
}

/** The mounts of a container, outer ones first. Throws a ConfigError. */
export function mountsOf(container: Container, input: MountInput): readonly ContainerMount[] {
  const own = new Map<string, ContainerMount>(
    [
      { source: input.resolverFile, target: '/etc/resolv.conf', isReadOnly: false },
      { source: input.hostsFile, target: '/etc/hosts', isReadOnly: false },
      { source: input.messageFile, target: messagePath(container), isReadOnly: false },
    ].map((mount) => [mount.target, mount]),
  );
  for (const { name, mountPath, readOnly = false, subPath = '', subPathExpr = '' } of container.volumeMounts ?? []) {
    const volume = input.volumes.get(name);
    if (volume === undefined) throw new ConfigError(`volume "${name}" not found`);
    const inside = subPathExpr === '' ? subPath : expandedPath(subPathExpr, input.variables);
    const target = normalize(`/${mountPath}`);
    const isReadOnly = readOnly || input.readOnlyVolumes.has(name);
    own.set(target, { source: join(volume, inside), target, isReadOnly, ...(inside === '' ? {} : { within: volume }) });
  }
  return [...own.values()].toSorted((a, b) => a.target.length - b.target.length);
}

/** Where a container leaves its termination message. */
export const messagePath = ({ terminationMessagePath }: Pick<Container, 'terminationMessagePath'>): string =>
  normalize(`/${terminationMessagePath ?? 'dev/termination-log'}`);

function expandedPath(expression: string, variables: Readonly<Record<string, string>>): string {
  const missing: string[] = [];
  const path = expand(expression, (name) => {
    const value = variables[name] ?? '';
    if (value === '') missing.push(name);
    return value;
  });
  if (missing.length > 0) throw new ConfigError(`missing value for ${JSON.stringify(missing[0])}`);
  if (path.startsWith('/') || path.split('/').includes('..'))
    throw new ConfigError(`subPath ${JSON.stringify(path)} must be a relative path without ".."`);
  return path;
}
