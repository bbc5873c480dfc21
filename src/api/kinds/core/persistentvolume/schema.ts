import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, list, map, optional, pointer, quantity, string, struct, time } from '../../../schema/schema.ts';
import { nodeSelector } from '../pod/affinity.ts';
import {
  awsElasticBlockStoreVolumeSource,
  azureDiskVolumeSource,
  fcVolumeSource,
  flockerVolumeSource,
  gcePersistentDiskVolumeSource,
  nfsVolumeSource,
  photonPersistentDiskVolumeSource,
  portworxVolumeSource,
  quobyteVolumeSource,
  vsphereVirtualDiskVolumeSource,
} from '../pod/volume-drivers.ts';
import { hostPathVolumeSource } from '../pod/volumes.ts';
import { objectReference } from '../references.ts';
import {
  azureFilePersistentVolumeSource,
  cephFSPersistentVolumeSource,
  cinderPersistentVolumeSource,
  csiPersistentVolumeSource,
  flexPersistentVolumeSource,
  glusterfsPersistentVolumeSource,
  iscsiPersistentVolumeSource,
  localVolumeSource,
  rbdPersistentVolumeSource,
  scaleIOPersistentVolumeSource,
  storageOSPersistentVolumeSource,
} from './sources.ts';

const core = 'io.k8s.api.core.v1';

const volumeNodeAffinity = struct(`${core}.VolumeNodeAffinity`, 'The nodes that can use a volume.', {
  required: pointer(1, nodeSelector, 'Required nodes.'),
});

/** Where the volume is; one of these fields is set. */
const sources = {
  gcePersistentDisk: pointer(1, gcePersistentDiskVolumeSource, 'A Google disk. Deprecated.', { inline: 2 }),
  awsElasticBlockStore: pointer(2, awsElasticBlockStoreVolumeSource, 'An AWS volume. Deprecated.', { inline: 2 }),
  hostPath: pointer(3, hostPathVolumeSource, 'A path of the host, for tests on one node.', { inline: 2 }),
  glusterfs: pointer(4, glusterfsPersistentVolumeSource, 'A Glusterfs volume. Deprecated.', { inline: 2 }),
  nfs: pointer(5, nfsVolumeSource, 'An NFS export.', { inline: 2 }),
  rbd: pointer(6, rbdPersistentVolumeSource, 'A Ceph block device. Deprecated.', { inline: 2 }),
  iscsi: pointer(7, iscsiPersistentVolumeSource, 'An iSCSI disk.', { inline: 2 }),
  cinder: pointer(8, cinderPersistentVolumeSource, 'An OpenStack volume. Deprecated.', { inline: 2 }),
  cephfs: pointer(9, cephFSPersistentVolumeSource, 'A Ceph file system. Deprecated.', { inline: 2 }),
  fc: pointer(10, fcVolumeSource, 'A Fibre Channel disk.', { inline: 2 }),
  flocker: pointer(11, flockerVolumeSource, 'A Flocker dataset. Deprecated.', { inline: 2 }),
  flexVolume: pointer(12, flexPersistentVolumeSource, 'A plugin’s volume. Deprecated.', { inline: 2 }),
  azureFile: pointer(13, azureFilePersistentVolumeSource, 'An Azure share. Deprecated.', { inline: 2 }),
  vsphereVolume: pointer(14, vsphereVirtualDiskVolumeSource, 'A vSphere disk. Deprecated.', { inline: 2 }),
  quobyte: pointer(15, quobyteVolumeSource, 'A Quobyte volume. Deprecated.', { inline: 2 }),
  azureDisk: pointer(16, azureDiskVolumeSource, 'An Azure disk. Deprecated.', { inline: 2 }),
  photonPersistentDisk: pointer(17, photonPersistentDiskVolumeSource, 'A Photon disk. Deprecated.', { inline: 2 }),
  portworxVolume: pointer(18, portworxVolumeSource, 'A Portworx volume. Deprecated.', { inline: 2 }),
  scaleIO: pointer(19, scaleIOPersistentVolumeSource, 'A ScaleIO volume. Deprecated.', { inline: 2 }),
  local: pointer(20, localVolumeSource, 'A disk or directory of one node.', { inline: 2 }),
  storageos: pointer(21, storageOSPersistentVolumeSource, 'A StorageOS volume. Deprecated.', { inline: 2 }),
  csi: pointer(22, csiPersistentVolumeSource, 'A volume of a CSI driver.', { inline: 2 }),
};

const persistentVolumeSpec = struct(`${core}.PersistentVolumeSpec`, 'The volume.', {
  capacity: optional(1, map(quantity), 'Size of the volume.'),
  ...sources,
  accessModes: optional(3, list(string), 'How the volume can be mounted.'),
  claimRef: pointer(4, objectReference, 'The claim that the volume is bound to.'),
  persistentVolumeReclaimPolicy: optional(5, string, 'What happens when it is released: Retain, Delete or Recycle.'),
  storageClassName: optional(6, string, 'Class of the storage.'),
  mountOptions: optional(7, list(string), 'Options with which it is mounted.'),
  volumeMode: pointer(8, string, 'Filesystem or Block.'),
  nodeAffinity: pointer(9, volumeNodeAffinity, 'The nodes that can use the volume.'),
  volumeAttributesClassName: pointer(10, string, 'Class of mutable attributes.'),
});

const persistentVolumeStatus = struct(`${core}.PersistentVolumeStatus`, 'The observed state of a volume.', {
  phase: optional(1, string, 'Pending, Available, Bound, Released or Failed.'),
  message: optional(2, string, 'Human-readable message.'),
  reason: optional(3, string, 'Reason, as one CamelCase word.'),
  lastPhaseTransitionTime: pointer(4, time, 'When the phase last changed.'),
});

export const persistentVolume = objectSchema(`${core}.PersistentVolume`, 'A piece of storage in the cluster.', {
  spec: always(2, persistentVolumeSpec, 'The volume.'),
  status: always(3, persistentVolumeStatus, 'The observed state.'),
});

export type PersistentVolume = Infer<typeof persistentVolume>;
export type PersistentVolumeSpec = PersistentVolume['spec'];

/** The fields with the location of the volume, in the order in which Kubernetes validates them. */
export const sourceFields = [
  'hostPath',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'glusterfs',
  'flocker',
  'nfs',
  'rbd',
  'quobyte',
  'cephfs',
  'iscsi',
  'cinder',
  'fc',
  'flexVolume',
  'azureFile',
  'vsphereVolume',
  'photonPersistentDisk',
  'portworxVolume',
  'azureDisk',
  'scaleIO',
  'local',
  'storageos',
  'csi',
] as const satisfies readonly (keyof typeof sources)[];
