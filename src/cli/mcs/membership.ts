import { readFile } from 'node:fs/promises';
import { dirname, relative, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Kind } from '../../api/kind.ts';
import { messageOf } from '../../api/error-message.ts';
import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import { serviceImportAlphaKind, serviceImportKind } from '../../api/kinds/multicluster/serviceimport/kind.ts';
import { importedServiceKind } from '../../api/kinds/multicluster/supercluster/import.ts';
import { hasStatusCode } from '../../client/transport.ts';
import type { Client } from '../../client/client.ts';
import { isOurs } from '../../multicluster/project/marks.ts';
import { writePrivateFile } from '../../server/pki/files.ts';
import { codesOf, FatalError } from '../errors.ts';
import { columns } from '../output.ts';
import { connectTo } from './entries.ts';
import type { FileMember, MembersFile } from './members-file.ts';
import { parseMembers, printMembers } from './members-file.ts';
import type { Shown } from './show.ts';
import type { Snapshot } from './snapshot.ts';

/** The file of members; one that is not there has none. */
async function membersIn(path: string): Promise<MembersFile> {
  try {
    return parseMembers(await readFile(path, 'utf8'), path);
  } catch (error) {
    if (codesOf(error).includes('ENOENT')) return { members: [] };
    throw error;
  }
}

async function write(path: string, file: MembersFile): Promise<void> {
  const content = printMembers(file);
  parseMembers(content, path); // what cannot be read again is refused here
  await writePrivateFile(path, content);
}

/** Adds a cluster, after it has answered: a file that names one nobody can reach helps nobody. */
export async function join(path: string, added: FileMember): Promise<string> {
  const file = await membersIn(path);
  if (file.members.some(({ id }) => id === added.id)) {
    throw new FatalError(`"${added.id}" is a member already: remove it with \`fairlead mcs leave ${added.id}\` first`);
  }
  const member =
    added.kubeconfig === undefined
      ? added
      : { ...added, kubeconfig: relative(dirname(resolve(path)), resolve(added.kubeconfig)) };
  using client = connectTo(member, path);
  const uid = await uidOf(client, added.id);
  for (const other of file.members) {
    using otherClient = connectTo(other, path);
    const otherUid = await uidOf(otherClient, other.id).catch(() => undefined); // away, which is its own affair
    if (otherUid === uid)
      throw new FatalError(`"${added.id}" is the cluster that is a member as "${other.id}" already`);
  }
  await write(path, { ...file, members: [...file.members, member] });
  return `${added.id} is a member; ${path} has ${file.members.length + 1}`;
}

async function uidOf(client: Client, id: string): Promise<string> {
  try {
    return (await client.get(namespaceKind, { name: 'kube-system' })).metadata.uid ?? '';
  } catch (error) {
    const hint = hasStatusCode(error, 401)
      ? ', it does not know the user of the context: if files of KUBECONFIG have users of one name, pass --kubeconfig'
      : '';
    throw new FatalError(`cannot reach cluster "${id}": ${messageOf(error)}${hint}`, { cause: error });
  }
}

export interface LeaveOptions {
  /** Does not wait until the controller has withdrawn it: for a cluster that is gone for good. */
  readonly isForced: boolean;
  readonly timeoutMs: number;
}

/** Removes a cluster: the controller withdraws what it exports and what it imports, then it is taken from the file. */
export async function leave(path: string, id: string, { isForced, timeoutMs }: LeaveOptions): Promise<string> {
  const file = await membersIn(path);
  const member = file.members.find((each) => each.id === id);
  if (member === undefined) {
    const known = file.members.map((each) => each.id).join(', ');
    throw new FatalError(`"${id}" is no member: ${path} has ${known === '' ? 'none' : known}`);
  }
  if (!isForced) {
    const leaving = file.members.map((each) => (each === member ? { ...each, leaving: true } : each));
    await write(path, { ...file, members: leaving });
    await drained(member, path, timeoutMs);
  }
  // Read anew: the file may have changed while we waited.
  const now = await membersIn(path);
  await write(path, { ...now, members: now.members.filter((each) => each.id !== id) });
  return isForced
    ? `${id} is no member any more; what it imported stays in it`
    : `${id} has left; nothing of it is left in the others, nor of them in it`;
}

async function drained(member: FileMember, path: string, timeoutMs: number): Promise<void> {
  using client = connectTo(member, path);
  for (const end = performance.now() + timeoutMs; ; await delay(200)) {
    const left = await importsIn(client).catch((error: unknown) => {
      throw new FatalError(`cannot reach ${member.id}: ${messageOf(error)}; pass --force if it is gone for good`);
    });
    if (left === 0) return;
    if (performance.now() > end) {
      throw new FatalError(
        `${member.id} is leaving and still has ${left} imports: is \`fairlead multicluster\` running? Run this again, or pass --force`,
      );
    }
  }
}

async function importsIn(client: Client): Promise<number> {
  const current = await countOf(client, serviceImportKind);
  const older = current === undefined ? await countOf(client, serviceImportAlphaKind) : undefined;
  return (current ?? older ?? 0) + ((await countOf(client, importedServiceKind)) ?? 0);
}

/** How many objects of a kind are ours; undefined: it is not served there. */
async function countOf(client: Client, kind: Kind): Promise<number | undefined> {
  try {
    return (await client.list(kind)).items.filter(isOurs).length;
  } catch (error) {
    if (hasStatusCode(error, 404)) return undefined;
    throw error;
  }
}

/** The members and how they are. */
export function list({ members }: Snapshot): Shown {
  const rows = members.map(({ id, isReady, probe, options }) => ({
    id,
    uid: probe.uid,
    state:
      options.isLeaving === true ? 'leaving' : isReady ? 'ready' : probe.state === 'alive' ? 'not readable' : 'away',
    reason: isReady ? '' : messageOf(probe.error ?? ''),
  }));
  return {
    value: rows,
    lines: columns([['ID', 'STATE', 'REASON'], ...rows.map(({ id, state, reason }) => [id, state, reason])]),
    isWell: rows.every(({ state }) => state === 'ready'),
  };
}
