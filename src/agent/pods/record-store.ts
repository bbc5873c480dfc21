// The records of Pods on disk: `pods/UID/record.json` in the directory of the agent.
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../../api/error-message.ts';
import type { PodRecord } from './record.ts';

export class RecordStore {
  readonly #directory: string;
  /** UID → the write that runs or waits last */
  readonly #writing = new Map<string, Promise<void>>();

  constructor(directory: string) {
    this.#directory = join(directory, 'pods');
  }

  /** The directory of a Pod. */
  directoryOf(uid: string): string {
    return join(this.#directory, uid);
  }

  /** Reads all records. A damaged one is left out, with its UID. */
  async load(): Promise<{ readonly records: readonly PodRecord[]; readonly damaged: readonly string[] }> {
    await mkdir(this.#directory, { recursive: true, mode: 0o711 });
    const uids = await readdir(this.#directory);
    const records: PodRecord[] = [];
    const damaged: string[] = [];
    for (const uid of uids) {
      const record = await this.#read(uid);
      if (record === undefined) damaged.push(uid);
      else records.push(record);
    }
    return { records, damaged };
  }

  async #read(uid: string): Promise<PodRecord | undefined> {
    try {
      // A cast where bytes become an object: this class wrote the file.
      const record = JSON.parse(await readFile(join(this.directoryOf(uid), 'record.json'), 'utf8')) as PodRecord;
      return record.uid === uid ? record : undefined;
    } catch {
      return undefined;
    }
  }

  /** Replaces a record, after earlier ones of the Pod. It need not survive a crash of the machine: its processes do not either. */
  async save(record: PodRecord): Promise<void> {
    const { uid } = record;
    const before = this.#writing.get(uid) ?? Promise.resolve();
    const writing = before.catch(() => undefined).then(() => this.#write(record));
    this.#writing.set(uid, writing);
    try {
      await writing;
    } finally {
      if (this.#writing.get(uid) === writing) this.#writing.delete(uid);
    }
  }

  async #write(record: PodRecord): Promise<void> {
    const directory = this.directoryOf(record.uid);
    const path = join(directory, 'record.json');
    const text = JSON.stringify(record);
    try {
      await writeFile(`${path}.tmp`, text, { mode: 0o600 });
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
      await mkdir(directory, { recursive: true, mode: 0o711 });
      await writeFile(`${path}.tmp`, text, { mode: 0o600 });
    }
    await rename(`${path}.tmp`, path);
  }

  /** Deletes the directory of a Pod with everything in it. */
  async remove(uid: string): Promise<void> {
    await this.#writing.get(uid)?.catch(() => undefined); // it would create the directory again
    await rm(this.directoryOf(uid), { recursive: true, force: true });
  }
}
