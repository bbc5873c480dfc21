// The volumes of one Pod as directories of this machine.
import { chmod, chown, mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { Clock } from '../../client/clock.ts';
import type { Client } from '../../client/client.ts';
import { messageOf } from '../../api/error-message.ts';
import type { FilesInput } from './files.ts';
import { isProjected, VolumeError, volumeFiles } from './files.ts';
import { PodTokens } from './tokens.ts';
import { writeFiles } from './atomic-writer.ts';

type Volume = NonNullable<Pod['spec']['volumes']>[number];

export interface VolumesOptions {
  readonly client: Client;
  readonly clock: Clock;
  /** The directory of the Pod. */
  readonly directory: string;
  /** Whether Pods may use directories of the machine. */
  readonly allowsHostPaths: boolean;
}

export class PodVolumes {
  readonly #options: VolumesOptions;
  readonly #tokens: PodTokens;

  constructor(options: VolumesOptions) {
    this.#options = options;
    this.#tokens = new PodTokens(options.client, options.clock);
  }

  /** The directories of the volumes by their names. */
  paths({ spec: { volumes = [] } }: Pod): ReadonlyMap<string, string> {
    return new Map(volumes.map((volume) => [volume.name, volume.hostPath?.path ?? this.#pathOf(volume)]));
  }

  /**
   * Creates the volumes, or updates their files. Returns when that is due again, in milliseconds since 1970. Rejects with a
   * VolumeError that names the volume.
   */
  async write(pod: Pod, input: Omit<FilesInput, 'token' | 'pod'>): Promise<number | undefined> {
    const renewAt = await this.#tokens.renew(pod).catch((error: unknown) => {
      throw new VolumeError(`failed to fetch token: ${messageOf(error)}`);
    });
    for (const volume of pod.spec.volumes ?? []) {
      try {
        await this.#write(volume, { ...input, pod, token: (audience) => this.#tokens.get(audience) });
      } catch (error) {
        if (!(error instanceof VolumeError)) throw error;
        throw new VolumeError(`MountVolume.SetUp failed for volume "${volume.name}" : ${error.message}`);
      }
    }
    return renewAt;
  }

  async #write(volume: Volume, input: FilesInput): Promise<void> {
    const path = this.#pathOf(volume);
    const group = groupOf(input.pod);
    if (isProjected(volume)) {
      const owner = group === undefined ? undefined : { uid: process.getuid?.() ?? 0, gid: group };
      return void (await writeFiles(path, volumeFiles(volume, input), owner));
    }
    if (volume.emptyDir !== undefined) {
      if ((await mkdir(path, { recursive: true })) === undefined) return; // it exists
      if (group !== undefined) await chown(path, -1, group);
      return chmod(path, group === undefined ? 0o777 : 0o2777);
    }
    if (volume.hostPath === undefined) throw new VolumeError('this kind of volume is not supported by this machine');
    if (!this.#options.allowsHostPaths)
      throw new VolumeError('hostPath volumes are not allowed on this machine: its agent needs --allow-host-path');
    await prepareHostPath(volume.hostPath);
  }

  #pathOf({ name }: Volume): string {
    return join(this.#options.directory, 'volumes', name);
  }
}

/** The group that owns volumes, if the agent may change groups; otherwise the files belong to its own user. */
function groupOf({ spec: { securityContext } }: Pod): number | undefined {
  const group = securityContext?.fsGroup;
  return group === undefined || process.getuid?.() !== 0 ? undefined : Number(group);
}

/** Creates or checks the path, as its type demands. */
async function prepareHostPath({ path, type = '' }: NonNullable<Volume['hostPath']>): Promise<void> {
  if (type === 'DirectoryOrCreate') await mkdir(path, { recursive: true, mode: 0o755 });
  if (type === 'FileOrCreate') await writeFile(path, '', { flag: 'a', mode: 0o644 });
  if (type === '') return;
  const found = await stat(path).catch(() => undefined);
  const isRight =
    found !== undefined &&
    ((type.startsWith('Directory') && found.isDirectory()) ||
      (type.startsWith('File') && found.isFile()) ||
      (type === 'Socket' && found.isSocket()) ||
      (type === 'CharDevice' && found.isCharacterDevice()) ||
      (type === 'BlockDevice' && found.isBlockDevice()));
  if (!isRight)
    throw new VolumeError(`hostPath type check failed: ${path} is not a ${type.replace('OrCreate', '').toLowerCase()}`);
}
