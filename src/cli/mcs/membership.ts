import { homedir } from 'node:os';
import { delimiter, dirname, relative, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Kind } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import { leaseKind } from '../../api/kinds/coordination/lease/kind.ts';
import { serviceExportAlphaKind, serviceExportKind } from '../../api/kinds/multicluster/serviceexport/kind.ts';
import { serviceImportAlphaKind, serviceImportKind } from '../../api/kinds/multicluster/serviceimport/kind.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import { superclusterExportKind } from '../../api/kinds/multicluster/supercluster/export.ts';
import { importedServiceKind } from '../../api/kinds/multicluster/supercluster/import.ts';
import { kubeconfigPaths, readKubeconfig } from '../../client/kubeconfig.ts';
import { hasStatusCode } from '../../client/transport.ts';
import type { Client } from '../../client/client.ts';
import { connectionReason } from '../../client/connection-error.ts';
import type { Snapshot } from '../../multicluster/inspect.ts';
import { drainText, installDefinitions, slowness } from '../../multicluster/inspect.ts';
import { leaseNamespace, leaseSelector, sourceOfLease, uidOfLease } from '../../multicluster/lease/lease.ts';
import { exportFinalizer, isOurs } from '../../multicluster/project/labels.ts';
import { writePrivateFile } from '../../server/pki/files.ts';
import { codesOf, FatalError } from '../errors.ts';
import { columns } from '../../api/text.ts';
import { connectTo } from './entries.ts';
import { readMembers } from './follow-members.ts';
import type { FileMember, MembersFile } from './members-file.ts';
import { parseMembers, printMembers } from './members-file.ts';
import type { CommandOutput } from './show.ts';

/** Reads the members file; a missing file has no members. */
async function membersIn(path: string): Promise<MembersFile> {
  try {
    return await readMembers(path);
  } catch (error) {
    if (codesOf(error).includes('ENOENT')) return { members: [] };
    throw error;
  }
}

async function write(path: string, file: MembersFile): Promise<void> {
  const content = printMembers(file);
  parseMembers(content, path); // rejects an invalid file before it is written
  await writePrivateFile(path, content);
}

/** Changes a member of the file. */
export async function changeMember(
  path: string,
  id: string,
  change: (member: FileMember) => FileMember,
): Promise<void> {
  const file = await membersIn(path);
  memberOf(file, path, id);
  await write(path, { ...file, members: file.members.map((each) => (each.id === id ? change(each) : each)) });
}

function memberOf({ members }: MembersFile, path: string, id: string): FileMember {
  const member = members.find((each) => each.id === id);
  if (member !== undefined) return member;
  const known = members.map((each) => each.id).join(', ');
  throw new FatalError(`"${id}" is not a member: ${path} has ${known === '' ? 'none' : known}`);
}

/** Adds a cluster that answers, is not a member yet, and whose id other members do not use for another cluster. */
export async function join(path: string, added: FileMember, { isForced = false } = {}): Promise<string> {
  const file = await membersIn(path);
  if (file.members.some(({ id }) => id === added.id)) {
    throw new FatalError(`"${added.id}" is a member already: remove it with \`fairlead mcs leave ${added.id}\` first`);
  }
  const kubeconfig = added.kubeconfig ?? (await exportedKubeconfig(added.context));
  const member =
    kubeconfig === undefined ? added : { ...added, kubeconfig: relative(dirname(resolve(path)), resolve(kubeconfig)) };
  using client = connectTo(member, path);
  const uid = await uidOf(client, added.id);
  for (const other of file.members) {
    using otherClient = connectTo(other, path);
    const otherUid = await uidOf(otherClient, other.id).catch(() => undefined); // `mcs list` reports why
    if (otherUid === undefined) continue;
    if (otherUid === uid) throw new FatalError(`"${added.id}" is the same cluster as the member "${other.id}"`);
    const remains = isForced ? undefined : await remainsOf(otherClient, added.id, uid);
    if (remains !== undefined) {
      throw new FatalError(
        `cluster "${other.id}" still has ${remains}: wait until they are removed, choose another --id, or pass --force`,
      );
    }
  }
  await write(path, { ...file, members: [...file.members, member] });
  const joined = `${added.id} is a member; ${path} has ${file.members.length + 1}`;
  return (await servesExports(client))
    ? joined
    : `${joined}\n${added.id} serves no kind of ServiceExport and is not read until its CRDs are installed:\n  ${installDefinitions(added.context)}`;
}

/** The file of KUBECONFIG that has a context: the controller may run with another KUBECONFIG. undefined: no single file. */
async function exportedKubeconfig(context: string | undefined): Promise<string | undefined> {
  if ((process.env['KUBECONFIG'] ?? '') === '') return undefined;
  for (const path of kubeconfigPaths(process.env, homedir(), delimiter)) {
    const isComplete = readKubeconfig({ paths: [path], context, env: process.env }).then(
      () => true,
      () => false,
    );
    if (await isComplete) return path;
  }
  return undefined;
}

/** What a member still has of another cluster with this id; undefined: nothing, or only of the cluster with this uid. */
async function remainsOf(client: Client, id: string, uid: string): Promise<string | undefined> {
  const { items: leases } = await client.list(leaseKind, { namespace: leaseNamespace, labelSelector: leaseSelector });
  const lease = leases.find((each) => sourceOfLease(each) === id);
  const leaseUid = lease && uidOfLease(lease);
  if (leaseUid === uid) return undefined;
  if (leaseUid !== undefined) return `a Lease of another cluster with the id "${id}" (uid ${leaseUid}, not ${uid})`;
  const imports = [
    ...(await currentImports(client)).filter(isOurs).flatMap(({ status }) => status?.clusters ?? []),
    ...(await listed(client, importedServiceKind)).filter(isOurs).flatMap(({ spec }) => spec?.clusters ?? []),
  ];
  return imports.some(({ cluster }) => cluster === id) ? `imports from another cluster with the id "${id}"` : undefined;
}

/** Whether a cluster serves either kind of ServiceExport. */
async function servesExports(client: Client): Promise<boolean> {
  for (const { group, version } of [serviceExportKind, serviceExportAlphaKind, superclusterExportKind]) {
    try {
      await client.read(`/apis/${group}/${version}`);
      return true;
    } catch (error) {
      if (!hasStatusCode(error, 404)) throw error;
    }
  }
  return false;
}

async function uidOf(client: Client, id: string): Promise<string> {
  try {
    return (await client.get(namespaceKind, { name: 'kube-system' })).metadata.uid ?? '';
  } catch (error) {
    const hint = hasStatusCode(error, 401)
      ? ': if several files of KUBECONFIG have users of one name, pass --kubeconfig'
      : '';
    throw new FatalError(`requests to cluster ${id} fail: ${connectionReason(error)}${hint}`, { cause: error });
  }
}

export interface LeaveOptions {
  /** Does not wait until the controller has withdrawn it, for a cluster that no longer exists. */
  readonly isForced: boolean;
  readonly timeoutMs: number;
}

/** Removes a cluster from the file after the controller has withdrawn its exports and deleted its imports. */
export async function leave(path: string, id: string, { isForced, timeoutMs }: LeaveOptions): Promise<string> {
  const file = await membersIn(path);
  const member = memberOf(file, path, id);
  if (!isForced) {
    const leaving = file.members.map((each) => (each === member ? { ...each, leaving: true } : each));
    await write(path, { ...file, members: leaving });
    await drained(member, path, timeoutMs);
  }
  // The file may have changed in the meantime.
  const now = await membersIn(path);
  await write(path, { ...now, members: now.members.filter((each) => each.id !== id) });
  return isForced
    ? `${id} is removed; its imports and exports are left in place`
    : `${id} has left; its exports were withdrawn and its imports deleted`;
}

async function drained(member: FileMember, path: string, timeoutMs: number): Promise<void> {
  using client = connectTo(member, path);
  for (const end = performance.now() + timeoutMs; ; await delay(200)) {
    const left = await remainingIn(client).catch((error: unknown) => {
      throw new FatalError(
        `requests to cluster ${member.id} fail: ${connectionReason(error)}; pass --force if it no longer exists`,
      );
    });
    if (left === 0) return;
    if (performance.now() > end) {
      throw new FatalError(
        `${member.id} is leaving and still has ${left} imports and exports: check that \`fairlead multicluster\` runs, then repeat this command, or pass --force`,
      );
    }
  }
}

/** The number of imports, and of exports that the controller has not released. */
async function remainingIn(client: Client): Promise<number> {
  const imports = [...(await currentImports(client)), ...(await listed(client, importedServiceKind))];
  const exports = [
    ...(await listed(client, serviceExportKind, serviceExportAlphaKind)),
    ...(await listed(client, superclusterExportKind)),
  ];
  const held = exports.filter(({ metadata }) => metadata.finalizers?.includes(exportFinalizer));
  return imports.filter(isOurs).length + held.length;
}

const currentImports = (client: Client): Promise<readonly ServiceImport[]> =>
  listed(client, serviceImportKind, serviceImportAlphaKind);

/** The objects of the first kind that is served; none if none is. */
async function listed<T extends ApiObject>(client: Client, ...kinds: readonly Kind<T>[]): Promise<readonly T[]> {
  const [kind, ...others] = kinds;
  if (kind === undefined) return [];
  try {
    return (await client.list(kind)).items;
  } catch (error) {
    if (hasStatusCode(error, 404)) return listed(client, ...others);
    throw error;
  }
}

/** Lists the members, and why some are not ready. */
export function list(snapshot: Snapshot): CommandOutput {
  const rows = snapshot.members.map((member) => {
    const { id, isReady, probe, options } = member;
    const problem = snapshot.problemOf(member);
    const state = snapshot.rejected.has(id)
      ? 'rejected'
      : options.isLeaving === true
        ? 'leaving'
        : isReady
          ? slowness(member) !== undefined
            ? 'slow'
            : options.isDraining === true
              ? 'draining'
              : 'ready'
          : probe.state === 'alive'
            ? 'not readable'
            : 'unreachable';
    const drain = options.isDraining === true ? snapshot.drain(id) : undefined;
    const reason =
      problem ??
      slowness(member) ??
      (drain && drainText(drain)) ??
      snapshot.overlap(id) ??
      snapshot.gatewayProblem(id) ??
      '';
    return { id, uid: probe.uid, state, reason, ...(drain === undefined ? {} : { drain }) };
  });
  return {
    value: rows,
    lines: columns([['ID', 'STATE', 'REASON'], ...rows.map(({ id, state, reason }) => [id, state, reason])]),
    isWell: rows.every(({ state }) => state === 'ready' || state === 'draining'),
  };
}
