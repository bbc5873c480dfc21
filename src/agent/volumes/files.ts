// The files of a volume, from the objects that it projects. No clock, no I/O.
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { PodFacts } from '../environment/fields.ts';
import { podField, resourceField } from '../environment/fields.ts';
import type { ReferencedObjects } from '../environment/variables.ts';
import { namedContainer } from '../environment/variables.ts';

type Volume = NonNullable<Pod['spec']['volumes']>[number];
type Projection = NonNullable<NonNullable<Volume['projected']>['sources']>[number];
type Items = NonNullable<Volume['configMap']>['items'];
type DownwardItems = NonNullable<Volume['downwardAPI']>['items'];

export interface VolumeFile {
  readonly data: Buffer;
  readonly mode: number;
}

/** Path → file. */
export type VolumeFiles = ReadonlyMap<string, VolumeFile>;

export interface FilesInput {
  readonly pod: Pod;
  readonly facts: PodFacts;
  readonly objects: ReferencedObjects;
  /** The token of the Pod's service account for an audience, '' for the API server; undefined: there is none yet. */
  readonly token: (audience: string) => string | undefined;
}

/** Why the files of a volume cannot be written: an Event `FailedMount`. */
export class VolumeError extends Error {}

const defaultFileMode = 0o644;

/** Whether the agent writes the files of this volume. */
export const isProjected = ({ configMap, secret, downwardAPI, projected }: Volume): boolean =>
  [configMap, secret, downwardAPI, projected].some((source) => source !== undefined);

/** The files of a projected volume. Throws a VolumeError if something is missing that is not optional. */
export function volumeFiles({ configMap, secret, downwardAPI, projected }: Volume, input: FilesInput): VolumeFiles {
  if (projected !== undefined) {
    const mode = projected.defaultMode ?? defaultFileMode;
    return new Map((projected.sources ?? []).flatMap((source) => [...projectedFiles(source, mode, input)]));
  }
  const files =
    configMap !== undefined
      ? configMapFiles(configMap, configMap.defaultMode ?? defaultFileMode, input)
      : secret !== undefined
        ? secretFiles({ ...secret, name: secret.secretName }, secret.defaultMode ?? defaultFileMode, input)
        : downwardFiles(downwardAPI?.items, downwardAPI?.defaultMode ?? defaultFileMode, input);
  return files;
}

function projectedFiles(source: Projection, mode: number, input: FilesInput): VolumeFiles {
  const { configMap, secret, downwardAPI, serviceAccountToken } = source;
  if (configMap !== undefined) return configMapFiles(configMap, mode, input);
  if (secret !== undefined) return secretFiles(secret, mode, input);
  if (downwardAPI !== undefined) return downwardFiles(downwardAPI.items, mode, input);
  if (serviceAccountToken === undefined)
    throw new VolumeError('a source of a projected volume is not supported by this machine');
  const token = input.token(serviceAccountToken.audience ?? '');
  if (token === undefined) throw new VolumeError('the token of the service account has not been issued yet');
  return new Map([[serviceAccountToken.path, { data: Buffer.from(token), mode }]]);
}

interface ObjectSource {
  readonly name?: string | undefined;
  readonly items?: Items;
  readonly optional?: boolean;
}

function configMapFiles(
  { name = '', items, optional = false }: ObjectSource,
  mode: number,
  input: FilesInput,
): VolumeFiles {
  const found = input.objects.configMap(name);
  if (found === undefined && !optional) throw new VolumeError(`configmap "${name}" not found`);
  const all = new Map<string, Buffer>([
    ...Object.entries(found?.data ?? {}).map(([key, text]) => [key, Buffer.from(text)] as const),
    ...Object.entries(found?.binaryData ?? {}).map(
      ([key, text]) => [key, Buffer.from(String(text), 'base64')] as const,
    ),
  ]);
  return selected(all, { items, mode, optional, what: `configmap "${name}"` });
}

function secretFiles(
  { name = '', items, optional = false }: ObjectSource,
  mode: number,
  input: FilesInput,
): VolumeFiles {
  const found = input.objects.secret(name);
  if (found === undefined && !optional) throw new VolumeError(`secret "${name}" not found`);
  const all = new Map(
    Object.entries(found?.data ?? {}).map(([key, text]) => [key, Buffer.from(String(text), 'base64')] as const),
  );
  return selected(all, { items, mode, optional, what: `secret "${name}"` });
}

interface Selected {
  readonly items: Items | undefined;
  readonly mode: number;
  readonly optional: boolean;
  readonly what: string;
}

function selected(all: ReadonlyMap<string, Buffer>, { items, mode, optional, what }: Selected): VolumeFiles {
  if (items === undefined || items.length === 0)
    return new Map(Array.from(all, ([key, data]) => [key, { data, mode }]));
  return new Map(
    items.flatMap(({ key, path, mode: own }): [string, VolumeFile][] => {
      const data = all.get(key);
      if (data === undefined && !optional) throw new VolumeError(`${what} references non-existent config key: ${key}`);
      return data === undefined ? [] : [[path, { data, mode: own ?? mode }]];
    }),
  );
}

function downwardFiles(items: DownwardItems, mode: number, { pod, facts }: FilesInput): VolumeFiles {
  return new Map(
    (items ?? []).map(({ path, fieldRef, resourceFieldRef, mode: own }): [string, VolumeFile] => {
      const value =
        fieldRef === undefined
          ? resourceField(resourceFieldRef?.resource ?? '', {
              container: namedContainer(pod, resourceFieldRef?.containerName ?? ''),
              divisor: String(resourceFieldRef?.divisor ?? '1'),
              facts,
            })
          : podField(fieldRef.fieldPath, pod, facts);
      if (value === undefined) throw new VolumeError(`the file ${path} refers to an unsupported field`);
      return [path, { data: Buffer.from(value), mode: own ?? mode }];
    }),
  );
}
