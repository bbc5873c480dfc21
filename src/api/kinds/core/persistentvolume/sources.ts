// Volume sources of PersistentVolumes that differ from those of Pods: their Secrets may be in any namespace.
import {
  always,
  atomic,
  boolean,
  int32,
  list,
  map,
  optional,
  pointer,
  string,
  struct,
} from '../../../schema/schema.ts';
import { objectReference } from '../references.ts';

const core = 'io.k8s.api.core.v1';

const secretReference = atomic(
  struct(`${core}.SecretReference`, 'Identifies a Secret in any namespace.', {
    name: optional(1, string, 'Name of the Secret.'),
    namespace: optional(2, string, 'Namespace of the Secret.'),
  }),
);

export const localVolumeSource = struct(`${core}.LocalVolumeSource`, 'A disk or directory of one node.', {
  path: always(1, string, 'Path on the node.', { required: true }),
  fsType: pointer(2, string, 'File system type.'),
});

export const csiPersistentVolumeSource = struct(`${core}.CSIPersistentVolumeSource`, 'A volume of a CSI driver.', {
  driver: always(1, string, 'Name of the driver.', { required: true }),
  volumeHandle: always(2, string, 'Name of the volume for the driver.', { required: true }),
  readOnly: optional(3, boolean, 'Whether it is read-only.'),
  fsType: optional(4, string, 'File system type.'),
  volumeAttributes: optional(5, map(string), 'Settings for the driver.'),
  controllerPublishSecretRef: pointer(6, secretReference, 'Secret for attaching the volume.'),
  nodeStageSecretRef: pointer(7, secretReference, 'Secret for preparing the volume on a node.'),
  nodePublishSecretRef: pointer(8, secretReference, 'Secret for mounting the volume.'),
  controllerExpandSecretRef: pointer(9, secretReference, 'Secret for enlarging the volume.'),
  nodeExpandSecretRef: pointer(10, secretReference, 'Secret for enlarging the volume on a node.'),
});

export const iscsiPersistentVolumeSource = struct(`${core}.ISCSIPersistentVolumeSource`, 'An iSCSI disk.', {
  targetPortal: always(1, string, 'Address of the portal.', { required: true }),
  iqn: always(2, string, 'Qualified name of the target.', { required: true }),
  lun: always(3, int32, 'Number of the unit.', { required: true }),
  iscsiInterface: optional(4, string, 'Interface to use.', { default: 'default' }),
  fsType: optional(5, string, 'File system type.'),
  readOnly: optional(6, boolean, 'Whether it is read-only.'),
  portals: optional(7, list(string), 'Further portals.'),
  chapAuthDiscovery: optional(8, boolean, 'Whether discovery authenticates by CHAP.'),
  chapAuthSession: optional(11, boolean, 'Whether sessions authenticate by CHAP.'),
  secretRef: pointer(10, secretReference, 'Secret for CHAP.'),
  initiatorName: pointer(12, string, 'Name of the initiator.'),
});

export const glusterfsPersistentVolumeSource = struct(
  `${core}.GlusterfsPersistentVolumeSource`,
  'A Glusterfs volume. Deprecated.',
  {
    endpoints: always(1, string, 'Endpoints object that lists the servers.', { required: true }),
    path: always(2, string, 'Path of the volume.', { required: true }),
    readOnly: optional(3, boolean, 'Whether it is read-only.'),
    endpointsNamespace: pointer(4, string, 'Namespace of the Endpoints object.'),
  },
);

export const rbdPersistentVolumeSource = struct(
  `${core}.RBDPersistentVolumeSource`,
  'A Ceph block device. Deprecated.',
  {
    monitors: always(1, list(string), 'The monitors.', { required: true }),
    image: always(2, string, 'The image.', { required: true }),
    fsType: optional(3, string, 'File system type.'),
    pool: optional(4, string, 'The pool.', { default: 'rbd' }),
    user: optional(5, string, 'The user.', { default: 'admin' }),
    keyring: optional(6, string, 'Path of the key ring.', { default: '/etc/ceph/keyring' }),
    secretRef: pointer(7, secretReference, 'Secret of the user.'),
    readOnly: optional(8, boolean, 'Whether it is read-only.'),
  },
);

export const cinderPersistentVolumeSource = struct(
  `${core}.CinderPersistentVolumeSource`,
  'An OpenStack volume. Deprecated.',
  {
    volumeID: always(1, string, 'ID of the volume.', { required: true }),
    fsType: optional(2, string, 'File system type.'),
    readOnly: optional(3, boolean, 'Whether it is read-only.'),
    secretRef: pointer(4, secretReference, 'Secret with the credentials.'),
  },
);

export const cephFSPersistentVolumeSource = struct(
  `${core}.CephFSPersistentVolumeSource`,
  'A Ceph file system. Deprecated.',
  {
    monitors: always(1, list(string), 'The monitors.', { required: true }),
    path: optional(2, string, 'Mounted path; default: /.'),
    user: optional(3, string, 'The user.'),
    secretFile: optional(4, string, 'Path of the key ring.'),
    secretRef: pointer(5, secretReference, 'Secret of the user.'),
    readOnly: optional(6, boolean, 'Whether it is read-only.'),
  },
);

export const flexPersistentVolumeSource = struct(
  `${core}.FlexPersistentVolumeSource`,
  'A plugin’s volume. Deprecated.',
  {
    driver: always(1, string, 'Name of the driver.', { required: true }),
    fsType: optional(2, string, 'File system type.'),
    secretRef: pointer(3, secretReference, 'Secret for the driver.'),
    readOnly: optional(4, boolean, 'Whether it is read-only.'),
    options: optional(5, map(string), 'Options for the driver.'),
  },
);

export const azureFilePersistentVolumeSource = struct(
  `${core}.AzureFilePersistentVolumeSource`,
  'An Azure share. Deprecated.',
  {
    secretName: always(1, string, 'Secret with the account.', { required: true }),
    shareName: always(2, string, 'Name of the share.', { required: true }),
    readOnly: optional(3, boolean, 'Whether it is read-only.'),
    secretNamespace: pointer(4, string, 'Namespace of the Secret.'),
  },
);

export const scaleIOPersistentVolumeSource = struct(
  `${core}.ScaleIOPersistentVolumeSource`,
  'A ScaleIO volume. Deprecated.',
  {
    gateway: always(1, string, 'Address of the gateway.', { required: true }),
    system: always(2, string, 'Name of the system.', { required: true }),
    secretRef: pointer(3, secretReference, 'Secret with the credentials.', { required: true }),
    sslEnabled: optional(4, boolean, 'Whether to use TLS.'),
    protectionDomain: optional(5, string, 'The protection domain.'),
    storagePool: optional(6, string, 'The storage pool.'),
    storageMode: optional(7, string, 'ThickProvisioned or ThinProvisioned.', { default: 'ThinProvisioned' }),
    volumeName: optional(8, string, 'Name of the volume.'),
    fsType: optional(9, string, 'File system type.', { default: 'xfs' }),
    readOnly: optional(10, boolean, 'Whether it is read-only.'),
  },
);

export const storageOSPersistentVolumeSource = struct(
  `${core}.StorageOSPersistentVolumeSource`,
  'A StorageOS volume. Deprecated.',
  {
    volumeName: optional(1, string, 'Name of the volume.'),
    volumeNamespace: optional(2, string, 'Namespace of the volume.'),
    fsType: optional(3, string, 'File system type.'),
    readOnly: optional(4, boolean, 'Whether it is read-only.'),
    secretRef: pointer(5, objectReference, 'Secret with the credentials.'),
  },
);
