// Applies and deletes the objects of an installation.
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../api/error-message.ts';
import type { Client } from '../../client/client.ts';
import type { Name } from '../../client/key.ts';
import { connectionReason } from '../../client/connection-error.ts';
import { FatalError } from '../errors.ts';
import { kindOf } from './kinds.ts';
import type { Manifest } from './manifest.ts';
import { isInstalled } from './manifest.ts';

/** The field manager of installed objects. */
const fieldManager = 'fairlead-install';

const nameOf = ({ metadata: { name, namespace } }: Manifest): Name => ({ name, namespace });

/** An object for people: `ClusterRole fairlead-dns`, `Role fairlead-member in kube-system`. */
const manifestText = ({ kind, metadata: { name, namespace } }: Manifest): string =>
  `${kind} ${name}${namespace === undefined ? '' : ` in ${namespace}`}`;

/**
 * Applies all manifests, or none if the server would reject one: each is first applied as a dry run. Objects in a namespace
 * that the manifests create cannot be tried before it exists. An existing namespace is left as it is.
 */
export async function applyAll(client: Client, all: readonly Manifest[]): Promise<void> {
  const [isNew, manifests] = [new Set<string>(), [...all]];
  for (const manifest of all.filter(({ kind }) => kind === 'Namespace')) {
    if ((await client.find(kindOf(manifest), nameOf(manifest))) === undefined) isNew.add(manifest.metadata.name);
    else manifests.splice(manifests.indexOf(manifest), 1);
  }
  const definesKinds = manifests.some(({ kind }) => kind === 'CustomResourceDefinition');
  for (const dryRun of [true, false]) {
    for (const manifest of manifests) {
      const { namespace = '' } = manifest.metadata;
      if (dryRun && isNew.has(namespace)) continue;
      await applyOne(client, manifest, dryRun);
    }
    if (!dryRun && definesKinds) await established(client, manifests);
  }
}

async function applyOne(client: Client, manifest: Manifest, dryRun: boolean): Promise<void> {
  try {
    await client.apply(kindOf(manifest), manifest, { fieldManager, dryRun });
  } catch (error) {
    const what = `the server rejects ${manifestText(manifest)}: ${connectionReason(error)}`;
    throw new FatalError(dryRun ? `${what}; nothing was changed` : `${what}; run this again when that is solved`, {
      cause: error,
    });
  }
}

/** Waits until the server serves the kinds that were defined. */
async function established(client: Client, manifests: readonly Manifest[], timeoutMs = 30_000): Promise<void> {
  for (const manifest of manifests.filter(({ kind }) => kind === 'CustomResourceDefinition')) {
    for (const end = performance.now() + timeoutMs; !(await isEstablished(client, manifest)); await delay(100)) {
      if (performance.now() > end)
        throw new FatalError(`${manifestText(manifest)} is not established: see its conditions`);
    }
  }
}

async function isEstablished(client: Client, manifest: Manifest): Promise<boolean> {
  // A cast where an object of a kind without a schema is read.
  const found = (await client.find(kindOf(manifest), nameOf(manifest))) as Conditioned | undefined;
  return found?.status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') ?? false;
}

interface Conditioned {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** Deletes the manifests in reverse order, except objects that others created. */
export async function deleteAll(client: Client, manifests: readonly Manifest[]): Promise<void> {
  for (const manifest of manifests.toReversed()) {
    try {
      const existing = await client.find(kindOf(manifest), nameOf(manifest));
      if (existing !== undefined && isInstalled(existing)) await client.delete(kindOf(manifest), nameOf(manifest));
    } catch (error) {
      throw new FatalError(`could not delete ${manifestText(manifest)}: ${messageOf(error)}`, { cause: error });
    }
  }
}
