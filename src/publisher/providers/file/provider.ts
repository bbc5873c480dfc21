// Writes zone files, for DNS servers that include them.
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, messageOf } from '../../../api/error-message.ts';
import type { Name } from '../../../dnswire/data.ts';
import { replaceFile } from '../../../machine/replace-file.ts';
import type { NameChange } from '../../plan/changes.ts';
import { contentAfter, touchedNames } from '../../plan/changes.ts';
import type { ZoneContent } from '../../plan/record-set.ts';
import type { Failure, Provider, ZoneReading } from '../provider.ts';
import { ProviderError } from '../provider.ts';
import { parseZoneFile, printZoneFile } from './zone-file.ts';

export interface FileOptions {
  readonly zones: readonly Name[];
  /** Must exist. It has a file `NAME.zone` for each zone. */
  readonly directory: string;
}

/** Above the largest zone that other providers read. */
const maxBytes = 256 << 20;
/** Readable for DNS servers, which run as other users. */
const fileMode = 0o644;

/** A file as it was read. */
interface ReadFile {
  readonly text: string;
  readonly content: ZoneContent;
  /** Names that were changed after it was read. */
  readonly changed: ReadonlySet<Name>;
}

/** Writes one file for each zone. A file that does not exist yet is an empty zone. */
export class FileProvider implements Provider {
  readonly #options: FileOptions;
  /** Zone → its file when it was read last. */
  readonly #files = new Map<Name, ReadFile>();

  constructor(options: FileOptions) {
    this.#options = options;
  }

  async zones(): Promise<readonly Name[]> {
    return this.#options.zones;
  }

  async read(zone: Name): Promise<ZoneReading> {
    const path = this.#pathOf(zone);
    const text = await readText(path);
    const known = this.#files.get(zone);
    if (known?.text === text) {
      this.#files.set(zone, { ...known, changed: new Set() });
      return known;
    }
    try {
      const content = parseZoneFile(text);
      this.#files.set(zone, { text, content, changed: new Set() });
      return { content, changed: undefined };
    } catch (error) {
      throw new ProviderError(`zone file ${path}: ${messageOf(error)}`, { cause: error });
    }
  }

  async apply(zone: Name, changes: readonly NameChange[]): Promise<readonly Failure[]> {
    const path = this.#pathOf(zone);
    const known = this.#files.get(zone);
    if (known === undefined) throw new Error('bug: the zone was not read');
    if ((await readText(path)) !== known.text)
      return changes.map((change) => ({ change, state: 'stale', message: 'the zone file has changed meanwhile' }));
    const content = contentAfter(known.content, changes);
    const text = printZoneFile(content);
    try {
      await replaceFile(path, text, fileMode);
    } catch (error) {
      throw new ProviderError(`zone file ${path} cannot be written: ${messageOf(error)}`, { cause: error });
    }
    this.#files.set(zone, { text, content, changed: known.changed.union(touchedNames(changes)) });
    return [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#files.clear();
  }

  #pathOf(zone: Name): string {
    return join(this.#options.directory, `${zone}.zone`);
  }
}

async function readText(path: string): Promise<string> {
  try {
    const { size } = await stat(path);
    if (size > maxBytes) throw new Error(`it has more than ${maxBytes >> 20} MiB`);
    return await readFile(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return '';
    throw new ProviderError(`zone file ${path} cannot be read: ${messageOf(error)}`, { cause: error });
  }
}
