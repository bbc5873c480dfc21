// The objects that a Pod refers to. Its node may read them.
import type { Container, Pod, PodSpec } from './schema.ts';

type Volume = NonNullable<PodSpec['volumes']>[number];
type ReferencingContainer = Pick<Container, 'env' | 'envFrom'>;

/** An object in the namespace of the Pod; resource is its plural name. */
export interface PodReference {
  readonly resource: 'secrets' | 'configmaps' | 'persistentvolumeclaims' | 'serviceaccounts';
  readonly name: string;
}

/** The objects that a Pod refers to, possibly repeated. */
export function podReferences({ metadata, spec }: Pod): readonly PodReference[] {
  const { initContainers = [], containers, ephemeralContainers = [], volumes = [], imagePullSecrets = [] } = spec;
  const all: readonly ReferencingContainer[] = [...initContainers, ...(containers ?? []), ...ephemeralContainers];
  const references: readonly PodReference[] = [
    { resource: 'serviceaccounts', name: spec.serviceAccountName ?? 'default' },
    ...imagePullSecrets.map(({ name }) => secret(name)),
    ...all.flatMap(containerReferences),
    ...volumes.flatMap((volume) => volumeReferences(volume, metadata.name ?? '')),
  ];
  return references.filter(({ name }) => name !== '');
}

const secret = (name = ''): PodReference => ({ resource: 'secrets', name });
const configMap = (name = ''): PodReference => ({ resource: 'configmaps', name });
const claim = (name: string): PodReference => ({ resource: 'persistentvolumeclaims', name });

const containerReferences = ({ env = [], envFrom = [] }: ReferencingContainer): readonly PodReference[] => [
  ...env.flatMap(({ valueFrom }) => [
    secret(valueFrom?.secretKeyRef?.name),
    configMap(valueFrom?.configMapKeyRef?.name),
  ]),
  ...envFrom.flatMap(({ secretRef, configMapRef }) => [secret(secretRef?.name), configMap(configMapRef?.name)]),
];

/** The claim of an ephemeral volume has the names of the Pod and the volume. */
const volumeReferences = (volume: Volume, pod: string): readonly PodReference[] => [
  secret(volume.secret?.secretName),
  configMap(volume.configMap?.name),
  claim(volume.persistentVolumeClaim?.claimName ?? ''),
  ...(volume.ephemeral === undefined ? [] : [claim(`${pod}-${volume.name}`)]),
  ...(volume.projected?.sources ?? []).flatMap((source) => [
    secret(source.secret?.name),
    configMap(source.configMap?.name),
  ]),
  secret(volume.azureFile?.secretName),
  secret(volume.csi?.nodePublishSecretRef?.name),
  ...[volume.cephfs, volume.cinder, volume.flexVolume, volume.iscsi, volume.rbd, volume.scaleIO, volume.storageos].map(
    (source) => secret(source?.secretRef?.name),
  ),
];

/** The kind of API objects that a Pod refers to, worded as in Kubernetes; undefined: it refers to none. */
export function apiObjectsOf(pod: Pod): string | undefined {
  const { serviceAccountName = '', resourceClaims = [], volumes = [] } = pod.spec;
  if (serviceAccountName !== '') return 'serviceaccounts';
  const kinds = new Set<string>(podReferences(pod).map(({ resource }) => resource));
  for (const resource of ['secrets', 'configmaps']) if (kinds.has(resource)) return resource;
  if (resourceClaims.length > 0) return 'resourceclaims';
  for (const volume of volumes) {
    const found = apiObjectsOfVolume(volume);
    if (found !== undefined) return found;
  }
  return undefined;
}

function apiObjectsOfVolume(volume: Volume): string | undefined {
  if (volume.csi !== undefined) return 'csidrivers (via CSI volumes)';
  if (volume.glusterfs !== undefined) return 'endpoints (via glusterFS volumes)';
  if (volume.persistentVolumeClaim !== undefined) return 'persistentvolumeclaims';
  if (volume.ephemeral !== undefined) return 'persistentvolumeclaims (via ephemeral volumes)';
  for (const source of volume.projected?.sources ?? []) {
    if (source.serviceAccountToken !== undefined) return 'serviceaccounts (via projected volumes)';
    if (source.clusterTrustBundle !== undefined) return 'clustertrustbundles';
    if (source.podCertificate !== undefined) return 'podcertificates';
  }
  return undefined;
}
