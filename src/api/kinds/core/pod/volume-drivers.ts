// Volume sources of particular storage systems, most of them deprecated. They are stored without validation.
import { always, boolean, int32, list, map, optional, pointer, string, struct } from '../../../schema/schema.ts';
import { localObjectReference } from '../references.ts';

const core = 'io.k8s.api.core.v1';

export const gcePersistentDiskVolumeSource = struct(
  `${core}.GCEPersistentDiskVolumeSource`,
  'A Google persistent disk.',
  {
    pdName: always(1, string, 'Name of the disk.', { required: true }),
    fsType: optional(2, string, 'File system type.'),
    partition: optional(3, int32, 'Partition to mount.'),
    readOnly: optional(4, boolean, 'Whether it is read-only.'),
  },
);

export const awsElasticBlockStoreVolumeSource = struct(
  `${core}.AWSElasticBlockStoreVolumeSource`,
  'An AWS EBS volume.',
  {
    volumeID: always(1, string, 'ID of the volume.', { required: true }),
    fsType: optional(2, string, 'File system type.'),
    partition: optional(3, int32, 'Partition to mount.'),
    readOnly: optional(4, boolean, 'Whether it is read-only.'),
  },
);

export const gitRepoVolumeSource = struct(`${core}.GitRepoVolumeSource`, 'A clone of a git repository. Deprecated.', {
  repository: always(1, string, 'Address of the repository.', { required: true }),
  revision: optional(2, string, 'Commit to check out.'),
  directory: optional(3, string, 'Directory to clone into.'),
});

export const nfsVolumeSource = struct(`${core}.NFSVolumeSource`, 'An NFS export.', {
  server: always(1, string, 'Host of the server.', { required: true }),
  path: always(2, string, 'Exported path.', { required: true }),
  readOnly: optional(3, boolean, 'Whether it is read-only.'),
});

export const iscsiVolumeSource = struct(`${core}.ISCSIVolumeSource`, 'An iSCSI disk.', {
  targetPortal: always(1, string, 'Address of the portal.', { required: true }),
  iqn: always(2, string, 'Qualified name of the target.', { required: true }),
  lun: always(3, int32, 'Number of the unit.', { required: true }),
  iscsiInterface: optional(4, string, 'Interface to use.', { default: 'default' }),
  fsType: optional(5, string, 'File system type.'),
  readOnly: optional(6, boolean, 'Whether it is read-only.'),
  portals: optional(7, list(string), 'Further portals.'),
  chapAuthDiscovery: optional(8, boolean, 'Whether discovery authenticates by CHAP.'),
  chapAuthSession: optional(11, boolean, 'Whether sessions authenticate by CHAP.'),
  secretRef: pointer(10, localObjectReference, 'Secret for CHAP.'),
  initiatorName: pointer(12, string, 'Name of the initiator.'),
});

export const glusterfsVolumeSource = struct(`${core}.GlusterfsVolumeSource`, 'A Glusterfs volume. Deprecated.', {
  endpoints: always(1, string, 'Endpoints object that lists the servers.', { required: true }),
  path: always(2, string, 'Path of the volume.', { required: true }),
  readOnly: optional(3, boolean, 'Whether it is read-only.'),
});

export const rbdVolumeSource = struct(`${core}.RBDVolumeSource`, 'A Ceph block device. Deprecated.', {
  monitors: always(1, list(string), 'Ceph monitors.', { required: true }),
  image: always(2, string, 'Image to mount.', { required: true }),
  fsType: optional(3, string, 'File system type.'),
  pool: optional(4, string, 'Pool of the image.', { default: 'rbd' }),
  user: optional(5, string, 'User to authenticate as.', { default: 'admin' }),
  keyring: optional(6, string, 'File of the keyring.', { default: '/etc/ceph/keyring' }),
  secretRef: pointer(7, localObjectReference, 'Secret with the key.'),
  readOnly: optional(8, boolean, 'Whether it is read-only.'),
});

export const flexVolumeSource = struct(`${core}.FlexVolumeSource`, 'A volume of an exec-based plugin. Deprecated.', {
  driver: always(1, string, 'Name of the driver.', { required: true }),
  fsType: optional(2, string, 'File system type.'),
  secretRef: pointer(3, localObjectReference, 'Secret for the driver.'),
  readOnly: optional(4, boolean, 'Whether it is read-only.'),
  options: optional(5, map(string), 'Options of the driver.'),
});

export const cinderVolumeSource = struct(`${core}.CinderVolumeSource`, 'An OpenStack Cinder volume. Deprecated.', {
  volumeID: always(1, string, 'ID of the volume.', { required: true }),
  fsType: optional(2, string, 'File system type.'),
  readOnly: optional(3, boolean, 'Whether it is read-only.'),
  secretRef: pointer(4, localObjectReference, 'Secret for OpenStack.'),
});

export const cephFSVolumeSource = struct(`${core}.CephFSVolumeSource`, 'A Ceph file system. Deprecated.', {
  monitors: always(1, list(string), 'Ceph monitors.', { required: true }),
  path: optional(2, string, 'Root to mount.'),
  user: optional(3, string, 'User to authenticate as.'),
  secretFile: optional(4, string, 'File of the secret.'),
  secretRef: pointer(5, localObjectReference, 'Secret with the key.'),
  readOnly: optional(6, boolean, 'Whether it is read-only.'),
});

export const flockerVolumeSource = struct(`${core}.FlockerVolumeSource`, 'A Flocker dataset. Deprecated.', {
  datasetName: optional(1, string, 'Name of the dataset.'),
  datasetUUID: optional(2, string, 'UUID of the dataset.'),
});

export const fcVolumeSource = struct(`${core}.FCVolumeSource`, 'A Fibre Channel disk.', {
  targetWWNs: optional(1, list(string), 'World wide names of targets.'),
  lun: pointer(2, int32, 'Number of the unit.'),
  fsType: optional(3, string, 'File system type.'),
  readOnly: optional(4, boolean, 'Whether it is read-only.'),
  wwids: optional(5, list(string), 'World wide identifiers.'),
});

export const azureFileVolumeSource = struct(`${core}.AzureFileVolumeSource`, 'An Azure file share. Deprecated.', {
  secretName: always(1, string, 'Secret with the account.', { required: true }),
  shareName: always(2, string, 'Name of the share.', { required: true }),
  readOnly: optional(3, boolean, 'Whether it is read-only.'),
});

export const vsphereVirtualDiskVolumeSource = struct(
  `${core}.VsphereVirtualDiskVolumeSource`,
  'A vSphere disk. Deprecated.',
  {
    volumePath: always(1, string, 'Path of the disk.', { required: true }),
    fsType: optional(2, string, 'File system type.'),
    storagePolicyName: optional(3, string, 'Name of the storage policy.'),
    storagePolicyID: optional(4, string, 'ID of the storage policy.'),
  },
);

export const quobyteVolumeSource = struct(`${core}.QuobyteVolumeSource`, 'A Quobyte volume. Deprecated.', {
  registry: always(1, string, 'Addresses of the registry.', { required: true }),
  volume: always(2, string, 'Name of the volume.', { required: true }),
  readOnly: optional(3, boolean, 'Whether it is read-only.'),
  user: optional(4, string, 'User to map access to.'),
  group: optional(5, string, 'Group to map access to.'),
  tenant: optional(6, string, 'Tenant of the volume.'),
});

export const azureDiskVolumeSource = struct(`${core}.AzureDiskVolumeSource`, 'An Azure data disk. Deprecated.', {
  diskName: always(1, string, 'Name of the disk.', { required: true }),
  diskURI: always(2, string, 'Address of the disk.', { required: true }),
  cachingMode: pointer(3, string, 'Host caching mode.'),
  fsType: pointer(4, string, 'File system type.', { default: 'ext4' }),
  readOnly: pointer(5, boolean, 'Whether it is read-only.', { default: false }),
  kind: pointer(6, string, 'Shared, Dedicated or Managed.'),
});

export const photonPersistentDiskVolumeSource = struct(
  `${core}.PhotonPersistentDiskVolumeSource`,
  'A Photon disk. Deprecated.',
  {
    pdID: always(1, string, 'ID of the disk.', { required: true }),
    fsType: optional(2, string, 'File system type.'),
  },
);

export const portworxVolumeSource = struct(`${core}.PortworxVolumeSource`, 'A Portworx volume. Deprecated.', {
  volumeID: always(1, string, 'ID of the volume.', { required: true }),
  fsType: optional(2, string, 'File system type.'),
  readOnly: optional(3, boolean, 'Whether it is read-only.'),
});

export const scaleIOVolumeSource = struct(`${core}.ScaleIOVolumeSource`, 'A ScaleIO volume. Deprecated.', {
  gateway: always(1, string, 'Address of the gateway.', { required: true }),
  system: always(2, string, 'Name of the system.', { required: true }),
  secretRef: pointer(3, localObjectReference, 'Secret for the gateway.', { required: true }),
  sslEnabled: optional(4, boolean, 'Whether to use TLS.'),
  protectionDomain: optional(5, string, 'Name of the protection domain.'),
  storagePool: optional(6, string, 'Name of the pool.'),
  storageMode: optional(7, string, 'Thick or thin provisioning.', { default: 'ThinProvisioned' }),
  volumeName: optional(8, string, 'Name of the volume.'),
  fsType: optional(9, string, 'File system type.', { default: 'xfs' }),
  readOnly: optional(10, boolean, 'Whether it is read-only.'),
});

export const storageOSVolumeSource = struct(`${core}.StorageOSVolumeSource`, 'A StorageOS volume. Deprecated.', {
  volumeName: optional(1, string, 'Name of the volume.'),
  volumeNamespace: optional(2, string, 'Namespace in StorageOS.'),
  fsType: optional(3, string, 'File system type.'),
  readOnly: optional(4, boolean, 'Whether it is read-only.'),
  secretRef: pointer(5, localObjectReference, 'Secret for StorageOS.'),
});
