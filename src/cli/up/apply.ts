import type { Transport } from '../../client/transport.ts';
import { statusErrorOf } from '../../client/transport.ts';
import { FatalError } from '../errors.ts';
import type { Manifest } from './manifests.ts';

/** Where a kind is served. */
interface Resource {
  readonly plural: string;
  readonly namespaced: boolean;
}

const fieldManager = 'fairlead';

/** Applies manifests to one cluster by server-side apply, namespaces first, otherwise in their order. */
export async function applyManifests(api: Transport, cluster: string, manifests: readonly Manifest[]): Promise<void> {
  const discovered = new Map<string, ReadonlyMap<string, Resource>>(); // apiVersion → kind → resource
  for (const manifest of inOrder(manifests)) {
    const { apiVersion } = manifest;
    const kinds = discovered.get(apiVersion) ?? (await discover(api, apiVersion));
    discovered.set(apiVersion, kinds);
    const resource = kinds.get(manifest.kind);
    if (resource === undefined) {
      throw failed(manifest, cluster, `no matches for kind "${manifest.kind}" in version "${apiVersion}"`);
    }
    const answer = await api.request({
      method: 'PATCH',
      path: applyPath(manifest, resource),
      query: { fieldManager, force: true },
      type: 'application/apply-patch+yaml',
      body: JSON.stringify(manifest.object),
    });
    if (answer.status >= 300) throw failed(manifest, cluster, statusErrorOf(answer).message);
  }
}

/** Namespaces before what may be in them. */
function inOrder(manifests: readonly Manifest[]): readonly Manifest[] {
  const isNamespace = ({ apiVersion, kind }: Manifest): boolean => apiVersion === 'v1' && kind === 'Namespace';
  return [...manifests.filter(isNamespace), ...manifests.filter((manifest) => !isNamespace(manifest))];
}

/** The path that a manifest is applied at; an object without a namespace goes to `default`. */
function applyPath({ apiVersion, name, namespace }: Manifest, { plural, namespaced }: Resource): string {
  const scope = namespaced ? `namespaces/${encodeURIComponent(namespace ?? 'default')}/` : '';
  return `${groupPath(apiVersion)}/${scope}${plural}/${encodeURIComponent(name)}`;
}

const groupPath = (apiVersion: string): string =>
  apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;

async function discover(api: Transport, apiVersion: string): Promise<ReadonlyMap<string, Resource>> {
  const { status, body } = await api.request({ method: 'GET', path: groupPath(apiVersion) });
  const resources = new Map<string, Resource>();
  if (status !== 200) return resources;
  // A cast where bytes become objects: the shape of an APIResourceList.
  const list = JSON.parse(body) as {
    readonly resources?: readonly { name: string; kind: string; namespaced: boolean }[];
  };
  for (const { name, kind, namespaced } of list.resources ?? []) {
    if (!name.includes('/')) resources.set(kind, { plural: name, namespaced });
  }
  return resources;
}

const failed = ({ source, kind, name }: Manifest, cluster: string, why: string): FatalError =>
  new FatalError(`cannot apply ${kind} "${name}" of ${source} to cluster "${cluster}": ${why}`);
