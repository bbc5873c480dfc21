import { isJsonObject } from '../../api/schema/json-object.ts';
import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { boolYaml11Tag, CORE_SCHEMA, loadAll, mergeTag } from 'js-yaml';
import { fileErrorOf } from '../../api/error-message.ts';
import { UsageError } from '../errors.ts';
import { yamlError } from '../options/yaml-error.ts';

/** An object of a manifest, and where it was read, for errors. */
export interface Manifest {
  readonly source: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string | undefined;
  /** The object as it was written. */
  readonly object: Readonly<Record<string, unknown>>;
}

/** kubectl reads `yes` and `on` as booleans, and so must we. */
const schema = CORE_SCHEMA.withTags(boolYaml11Tag, mergeTag);
const extensions = new Set(['.yaml', '.yml', '.json']);

/** Which kinds of objects to read. */
type Accepts = (kind: unknown) => boolean;
const everything: Accepts = () => true;

/**
 * The objects of a file, or of all YAML and JSON files of a directory in the order of their names. Objects of kinds that
 * are not accepted are skipped.
 */
export async function readManifests(path: string, accepts = everything): Promise<readonly Manifest[]> {
  const manifests: Manifest[] = [];
  for (const file of await filesAt(path)) {
    manifests.push(...parseManifests(await readFile(file, 'utf8'), file, accepts));
  }
  return manifests;
}

/** The objects in YAML or JSON text with any number of documents; a List is its items. */
export function parseManifests(text: string, file: string, accepts = everything): readonly Manifest[] {
  let documents: readonly unknown[];
  try {
    documents = loadAll(text, { schema });
  } catch (error) {
    throw yamlError(file, error);
  }
  const aliases = { charactersLeft: text.length + aliasAllowance };
  return documents.flatMap((document, index) => {
    const source = documents.length === 1 ? file : `${file}, document ${index + 1}`;
    if (document === null || document === undefined) return [];
    refuseAliasBomb(document, 0, aliases, source);
    return objectsIn(document, source, accepts);
  });
}

/** How many characters aliases may add to a file. */
const aliasAllowance = 3 * 1024 * 1024;
const maxDepth = 500;

/** With nested aliases, a few lines can be a document that is larger than the memory once it is written as JSON. */
function refuseAliasBomb(value: unknown, depth: number, aliases: { charactersLeft: number }, source: string): void {
  aliases.charactersLeft -= typeof value === 'string' ? value.length + 1 : 1;
  if (aliases.charactersLeft < 0 || depth > maxDepth) {
    throw new UsageError(`${source}: the document contains excessive aliasing`);
  }
  if (typeof value !== 'object' || value === null) return;
  for (const below of Object.values(value)) refuseAliasBomb(below, depth + 1, aliases, source);
}

function objectsIn(document: unknown, source: string, accepts: Accepts): readonly Manifest[] {
  if (!isJsonObject(document)) throw new UsageError(`${source}: expected an object, found ${JSON.stringify(document)}`);
  const { kind, items } = document;
  if (typeof kind === 'string' && kind.endsWith('List') && Array.isArray(items)) {
    return items.flatMap((item, index) => objectsIn(item, `${source}, item ${index + 1}`, accepts));
  }
  if (!accepts(kind)) return [];
  const metadata = isJsonObject(document['metadata']) ? document['metadata'] : {};
  const namespace = metadata['namespace'];
  return [
    {
      source,
      apiVersion: text(document['apiVersion'], 'apiVersion', source),
      kind: text(kind, 'kind', source),
      name: text(metadata['name'], 'metadata.name', source),
      namespace: namespace === undefined ? undefined : text(namespace, 'metadata.namespace', source),
      object: document,
    },
  ];
}

function text(value: unknown, field: string, source: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new UsageError(`${source}: ${field} ${value === undefined ? 'is missing' : 'is not a string'}`);
}

async function filesAt(path: string): Promise<readonly string[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [path];
    const names = (await readdir(path)).filter((name) => extensions.has(extname(name))).toSorted();
    if (names.length === 0) throw new UsageError('there is no .yaml, .yml or .json file in it');
    return names.map((name) => join(path, name));
  } catch (error) {
    throw new UsageError(`cannot read --apply ${path}: ${fileErrorOf(error)}`, { cause: error });
  }
}
