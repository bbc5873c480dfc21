import { labelSelector } from '../../../metadata.ts';
import {
  always,
  boolean,
  int32,
  int64,
  list,
  map,
  oneOf,
  optional,
  pointer,
  quantity,
  string,
  struct,
} from '../../../schema/schema.ts';
import { persistentVolumeClaimTemplate } from './claim.ts';
import { keyToPath, localObjectReference, objectFieldSelector, resourceFieldSelector } from '../references.ts';
import {
  awsElasticBlockStoreVolumeSource,
  azureDiskVolumeSource,
  azureFileVolumeSource,
  cephFSVolumeSource,
  cinderVolumeSource,
  fcVolumeSource,
  flexVolumeSource,
  flockerVolumeSource,
  gcePersistentDiskVolumeSource,
  gitRepoVolumeSource,
  glusterfsVolumeSource,
  iscsiVolumeSource,
  nfsVolumeSource,
  photonPersistentDiskVolumeSource,
  portworxVolumeSource,
  quobyteVolumeSource,
  rbdVolumeSource,
  scaleIOVolumeSource,
  storageOSVolumeSource,
  vsphereVirtualDiskVolumeSource,
} from './volume-drivers.ts';

const core = 'io.k8s.api.core.v1';

export const hostPathVolumeSource = struct(`${core}.HostPathVolumeSource`, 'A path of the host.', {
  path: always(1, string, 'The path.', { required: true }),
  type: pointer(2, string, 'Required type of the path.'),
});

const emptyDirVolumeSource = struct(
  `${core}.EmptyDirVolumeSource`,
  'An empty directory that lives as long as the Pod.',
  {
    medium: optional(1, string, 'Memory, or empty for the node’s disk.'),
    sizeLimit: pointer(2, quantity, 'Size limit.'),
  },
);

const secretVolumeSource = struct(`${core}.SecretVolumeSource`, 'The keys of a Secret as files.', {
  secretName: optional(1, string, 'The Secret.'),
  items: optional(2, list(keyToPath), 'Keys to include; default: all.'),
  defaultMode: pointer(3, int32, 'File mode bits.'),
  optional: pointer(4, boolean, 'Whether the Secret may be missing.'),
});

const configMapVolumeSource = struct(`${core}.ConfigMapVolumeSource`, 'The keys of a ConfigMap as files.', {
  name: optional(1, string, 'Name of the object.', { default: '', inline: 1 }),
  items: optional(2, list(keyToPath), 'Keys to include; default: all.'),
  defaultMode: pointer(3, int32, 'File mode bits.'),
  optional: pointer(4, boolean, 'Whether the ConfigMap may be missing.'),
});

const downwardAPIVolumeFile = struct(`${core}.DownwardAPIVolumeFile`, 'A file with a field of the Pod.', {
  path: always(1, string, 'Path of the file inside the volume.', { required: true }),
  fieldRef: pointer(2, objectFieldSelector, 'A field of the Pod.'),
  resourceFieldRef: pointer(3, resourceFieldSelector, 'A resource of a container.'),
  mode: pointer(4, int32, 'File mode bits, instead of the volume’s default.'),
});

const downwardAPIVolumeSource = struct(`${core}.DownwardAPIVolumeSource`, 'Files with fields of the Pod.', {
  items: optional(1, list(downwardAPIVolumeFile), 'The files.'),
  defaultMode: pointer(2, int32, 'File mode bits.'),
});

const persistentVolumeClaimVolumeSource = struct(
  `${core}.PersistentVolumeClaimVolumeSource`,
  'A claim in the same namespace.',
  {
    claimName: always(1, string, 'The claim.', { required: true }),
    readOnly: optional(2, boolean, 'Whether it is read-only.'),
  },
);

const secretProjection = struct(`${core}.SecretProjection`, 'The keys of a Secret.', {
  name: optional(1, string, 'Name of the object.', { default: '', inline: 1 }),
  items: optional(2, list(keyToPath), 'Keys to include; default: all.'),
  optional: pointer(4, boolean, 'Whether the Secret may be missing.'),
});

const configMapProjection = struct(`${core}.ConfigMapProjection`, 'The keys of a ConfigMap.', {
  name: optional(1, string, 'Name of the object.', { default: '', inline: 1 }),
  items: optional(2, list(keyToPath), 'Keys to include; default: all.'),
  optional: pointer(4, boolean, 'Whether the ConfigMap may be missing.'),
});

const downwardAPIProjection = struct(`${core}.DownwardAPIProjection`, 'Files with fields of the Pod.', {
  items: optional(1, list(downwardAPIVolumeFile), 'The files.'),
});

const serviceAccountTokenProjection = struct(
  `${core}.ServiceAccountTokenProjection`,
  'A token of the Pod’s service account.',
  {
    audience: optional(1, string, 'Audience of the token.'),
    expirationSeconds: pointer(2, int64, 'Lifetime in seconds.'),
    path: always(3, string, 'Path of the file inside the volume.', { required: true }),
  },
);

const clusterTrustBundleProjection = struct(`${core}.ClusterTrustBundleProjection`, 'Trust anchors of a bundle.', {
  name: pointer(1, string, 'One bundle by name.'),
  signerName: pointer(2, string, 'All bundles of a signer.'),
  labelSelector: pointer(3, labelSelector, 'Selects bundles of the signer.'),
  optional: pointer(5, boolean, 'Whether the bundle may be missing.'),
  path: always(4, string, 'Path of the file inside the volume.', { required: true }),
});

const podCertificateProjection = struct(`${core}.PodCertificateProjection`, 'A key and certificate for the Pod.', {
  signerName: optional(1, string, 'Name of the signer.'),
  keyType: optional(2, string, 'Type of the key.'),
  maxExpirationSeconds: pointer(3, int32, 'Maximum lifetime of the certificate in seconds.'),
  credentialBundlePath: optional(4, string, 'File for key and chain together.'),
  keyPath: optional(5, string, 'File for the key.'),
  certificateChainPath: optional(6, string, 'File for the chain.'),
});

const volumeProjection = struct(`${core}.VolumeProjection`, 'One part of a projected volume.', {
  secret: pointer(1, secretProjection, 'A Secret.'),
  downwardAPI: pointer(2, downwardAPIProjection, 'Fields of the Pod.'),
  configMap: pointer(3, configMapProjection, 'A ConfigMap.'),
  serviceAccountToken: pointer(4, serviceAccountTokenProjection, 'A token.'),
  clusterTrustBundle: pointer(5, clusterTrustBundleProjection, 'Trust anchors.'),
  podCertificate: pointer(6, podCertificateProjection, 'A certificate.'),
});

const projectedVolumeSource = struct(`${core}.ProjectedVolumeSource`, 'Several sources in one directory.', {
  sources: always(1, list(volumeProjection), 'The parts.'),
  defaultMode: pointer(2, int32, 'File mode bits.'),
});

const csiVolumeSource = struct(`${core}.CSIVolumeSource`, 'An inline volume of a CSI driver.', {
  driver: always(1, string, 'Name of the driver.', { required: true }),
  readOnly: pointer(2, boolean, 'Whether it is read-only.'),
  fsType: pointer(3, string, 'File system type.'),
  volumeAttributes: optional(4, map(string), 'Settings for the driver.'),
  nodePublishSecretRef: pointer(5, localObjectReference, 'Secret for the driver.'),
});

const ephemeralVolumeSource = struct(`${core}.EphemeralVolumeSource`, 'A claim that lives as long as the Pod.', {
  volumeClaimTemplate: pointer(1, persistentVolumeClaimTemplate, 'Template of the claim.'),
});

const imageVolumeSource = struct(`${core}.ImageVolumeSource`, 'An OCI image or artifact.', {
  reference: optional(1, string, 'The image.'),
  pullPolicy: optional(2, oneOf('Always', 'Never', 'IfNotPresent'), 'When it is pulled.'),
});

export const volume = struct(`${core}.Volume`, 'A volume that containers may mount.', {
  name: always(1, string, 'Unique name in the Pod; a DNS label.', { required: true }),
  hostPath: pointer(1, hostPathVolumeSource, 'A path of the host.', { inline: 2 }),
  emptyDir: pointer(2, emptyDirVolumeSource, 'An empty directory.', { inline: 2 }),
  gcePersistentDisk: pointer(3, gcePersistentDiskVolumeSource, 'A Google disk. Deprecated.', { inline: 2 }),
  awsElasticBlockStore: pointer(4, awsElasticBlockStoreVolumeSource, 'An AWS volume. Deprecated.', { inline: 2 }),
  gitRepo: pointer(5, gitRepoVolumeSource, 'A git clone. Deprecated.', { inline: 2 }),
  secret: pointer(6, secretVolumeSource, 'A Secret.', { inline: 2 }),
  nfs: pointer(7, nfsVolumeSource, 'An NFS export.', { inline: 2 }),
  iscsi: pointer(8, iscsiVolumeSource, 'An iSCSI disk.', { inline: 2 }),
  glusterfs: pointer(9, glusterfsVolumeSource, 'A Glusterfs volume. Deprecated.', { inline: 2 }),
  persistentVolumeClaim: pointer(10, persistentVolumeClaimVolumeSource, 'A claim.', { inline: 2 }),
  rbd: pointer(11, rbdVolumeSource, 'A Ceph block device. Deprecated.', { inline: 2 }),
  flexVolume: pointer(12, flexVolumeSource, 'A plugin’s volume. Deprecated.', { inline: 2 }),
  cinder: pointer(13, cinderVolumeSource, 'An OpenStack volume. Deprecated.', { inline: 2 }),
  cephfs: pointer(14, cephFSVolumeSource, 'A Ceph file system. Deprecated.', { inline: 2 }),
  flocker: pointer(15, flockerVolumeSource, 'A Flocker dataset. Deprecated.', { inline: 2 }),
  downwardAPI: pointer(16, downwardAPIVolumeSource, 'Fields of the Pod.', { inline: 2 }),
  fc: pointer(17, fcVolumeSource, 'A Fibre Channel disk.', { inline: 2 }),
  azureFile: pointer(18, azureFileVolumeSource, 'An Azure share. Deprecated.', { inline: 2 }),
  configMap: pointer(19, configMapVolumeSource, 'A ConfigMap.', { inline: 2 }),
  vsphereVolume: pointer(20, vsphereVirtualDiskVolumeSource, 'A vSphere disk. Deprecated.', { inline: 2 }),
  quobyte: pointer(21, quobyteVolumeSource, 'A Quobyte volume. Deprecated.', { inline: 2 }),
  azureDisk: pointer(22, azureDiskVolumeSource, 'An Azure disk. Deprecated.', { inline: 2 }),
  photonPersistentDisk: pointer(23, photonPersistentDiskVolumeSource, 'A Photon disk. Deprecated.', { inline: 2 }),
  projected: pointer(26, projectedVolumeSource, 'Several sources together.', { inline: 2 }),
  portworxVolume: pointer(24, portworxVolumeSource, 'A Portworx volume. Deprecated.', { inline: 2 }),
  scaleIO: pointer(25, scaleIOVolumeSource, 'A ScaleIO volume. Deprecated.', { inline: 2 }),
  storageos: pointer(27, storageOSVolumeSource, 'A StorageOS volume. Deprecated.', { inline: 2 }),
  csi: pointer(28, csiVolumeSource, 'A CSI driver’s volume.', { inline: 2 }),
  ephemeral: pointer(29, ephemeralVolumeSource, 'A claim created for the Pod.', { inline: 2 }),
  image: pointer(30, imageVolumeSource, 'An image.', { inline: 2 }),
});
