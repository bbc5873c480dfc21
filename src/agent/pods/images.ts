// Images without containers: an image name stands for a directory or a program of this machine.
import { statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, isAbsolute, join } from 'node:path';
import type { Container } from '../../api/kinds/core/pod/schema.ts';

/** The image of containers that run a program of the machine. */
const processImage = 'process';

/** What runs for an image. */
export interface MappedImage {
  /** A program or a directory with programs; undefined: the machine itself. */
  readonly path?: string;
  readonly isDirectory: boolean;
  /** Runs if the container has no command. */
  readonly entrypoint: readonly string[];
  /** Its arguments, unless the container has a command or arguments. */
  readonly args: readonly string[];
}

/** Image → what runs for it. A name without a tag stands for all tags. */
export type ImageMap = ReadonlyMap<string, MappedImage>;

/**
 * Parses `IMAGE=PATH [WORD...]`. A program has WORDs as its default arguments. Of a directory, the first WORD is the default
 * program. Throws if the path does not exist.
 */
export function parseImageMapping(text: string): readonly [string, MappedImage] {
  const equals = text.indexOf('=');
  const image = text.slice(0, equals);
  const [path = '', ...words] = text
    .slice(equals + 1)
    .split(' ')
    .filter((word) => word !== '');
  if (equals < 1 || !isAbsolute(path) || /\s/.test(image)) throw new Error('expected IMAGE=PATH with an absolute path');
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw new Error(`${path} does not exist`);
  if (!found.isDirectory()) return [normalName(image), { path, isDirectory: false, entrypoint: [path], args: words }];
  return [normalName(image), { path, isDirectory: true, entrypoint: words.slice(0, 1), args: words.slice(1) }];
}

const machineImage: MappedImage = { isDirectory: false, entrypoint: [], args: [] };

/** What an image name stands for on this machine; undefined: nothing. */
export function imageOf({ image = '' }: Pick<Container, 'image'>, images: ImageMap): MappedImage | undefined {
  if (image === processImage) return machineImage;
  const name = normalName(image);
  const [untagged] = splitName(name);
  return images.get(name) ?? images.get(name.split('@', 1)[0] ?? '') ?? images.get(untagged);
}

/** Whether a name has the form of an image reference. */
export function isImageName(image: string): boolean {
  const [tagged = '', ...digests] = image.split('@');
  const [name, tag] = splitName(tagged);
  const parts = name.split('/');
  const [registry = '', ...folders] = parts;
  const others = parts.length > 1 && /^[\w.-]+(?::\d+)?$/.test(registry) ? folders : parts;
  return (
    others.every((part) => /^[a-z\d._-]+$/.test(part)) &&
    (tag === '' || /^:[\w.-]{1,128}$/.test(tag)) &&
    digests.length <= 1 &&
    digests.every((digest) => /^[\w+.-]+:[\da-fA-F]+$/.test(digest))
  );
}

/** Why no image of this name runs, and what to do. */
export function notMapped(image: string): string {
  const [name] = splitName(image);
  return (
    `no image is pulled on this machine, and "${image}" is not mapped: start its agent with ` +
    `--image-map '${name}=PATH', the path of a program or a directory, or use the image "${processImage}" and a command`
  );
}

/** The default registry and its default folder are left out. */
const normalName = (image: string): string => image.replace(/^(?:index\.)?docker\.io\//, '').replace(/^library\//, '');

/** The name without its tag and digest, and what was left out. */
function splitName(image: string): readonly [name: string, rest: string] {
  const [tagged = ''] = image.split('@', 1);
  const colon = tagged.indexOf(':', tagged.lastIndexOf('/') + 1);
  return colon < 0 ? [tagged, ''] : [tagged.slice(0, colon), tagged.slice(colon)];
}

/** The command of a container without the one of its image: as in Kubernetes, a command replaces both parts of the image. */
export function argvOf(
  image: MappedImage,
  { command, args }: { readonly command: readonly string[]; readonly args: readonly string[] },
): readonly string[] {
  if (command.length > 0) return [...command, ...args];
  return [...image.entrypoint, ...(args.length > 0 ? args : image.args)];
}

/**
 * Where a program of the image is. A program of a directory is found by its path in the directory, for example `/app/run`; a
 * mapped program by its own name, whatever folder the container names.
 */
export async function programOf({ path, isDirectory }: MappedImage, program: string): Promise<string> {
  if (path === undefined) return program;
  if (!isDirectory) return basename(program) === basename(path) ? path : program;
  if (!program.includes('/')) return program; // by the search path
  const inside = join(path, program);
  return (await exists(inside)) ? inside : program;
}

const folders = ['usr/local/sbin', 'usr/local/bin', 'usr/sbin', 'usr/bin', 'sbin', 'bin', ''];

/** The search path for programs, with the folders of the image first. */
export async function searchPath({ path, isDirectory }: MappedImage, inherited: string): Promise<string> {
  if (path === undefined || !isDirectory) return inherited;
  const all = folders.map((folder) => join(path, folder));
  const there = await Promise.all(all.map(exists));
  return [...all.filter((_folder, index) => there[index] === true), inherited].join(':');
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
