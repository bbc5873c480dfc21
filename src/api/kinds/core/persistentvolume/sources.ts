// Volume sources of PersistentVolumes that differ from those of Pods: their Secrets may be in any namespace.
import { always, atomic, boolean, map, optional, pointer, string, struct } from '../../../schema/schema.ts';
import {
  azureFileVolumeSource,
  cephFSVolumeSource,
  cinderVolumeSource,
  flexVolumeSource,
  glusterfsVolumeSource,
  iscsiVolumeSource,
  rbdVolumeSource,
  scaleIOVolumeSource,
  storageOSVolumeSource,
} from '../pod/volume-drivers.ts';
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

export const iscsiPersistentVolumeSource = struct(
  `${core}.ISCSIPersistentVolumeSource`,
  iscsiVolumeSource.description,
  {
    ...iscsiVolumeSource.fields,
    secretRef: pointer(10, secretReference, 'Secret for CHAP.'),
  },
);

export const glusterfsPersistentVolumeSource = struct(
  `${core}.GlusterfsPersistentVolumeSource`,
  glusterfsVolumeSource.description,
  {
    ...glusterfsVolumeSource.fields,
    endpointsNamespace: pointer(4, string, 'Namespace of the Endpoints object.'),
  },
);

export const rbdPersistentVolumeSource = struct(`${core}.RBDPersistentVolumeSource`, rbdVolumeSource.description, {
  ...rbdVolumeSource.fields,
  secretRef: pointer(7, secretReference, 'Secret with the key.'),
});

export const cinderPersistentVolumeSource = struct(
  `${core}.CinderPersistentVolumeSource`,
  cinderVolumeSource.description,
  {
    ...cinderVolumeSource.fields,
    secretRef: pointer(4, secretReference, 'Secret for OpenStack.'),
  },
);

export const cephFSPersistentVolumeSource = struct(
  `${core}.CephFSPersistentVolumeSource`,
  cephFSVolumeSource.description,
  {
    ...cephFSVolumeSource.fields,
    secretRef: pointer(5, secretReference, 'Secret with the key.'),
  },
);

export const flexPersistentVolumeSource = struct(`${core}.FlexPersistentVolumeSource`, flexVolumeSource.description, {
  ...flexVolumeSource.fields,
  secretRef: pointer(3, secretReference, 'Secret for the driver.'),
});

export const azureFilePersistentVolumeSource = struct(
  `${core}.AzureFilePersistentVolumeSource`,
  azureFileVolumeSource.description,
  {
    ...azureFileVolumeSource.fields,
    secretNamespace: pointer(4, string, 'Namespace of the Secret.'),
  },
);

export const scaleIOPersistentVolumeSource = struct(
  `${core}.ScaleIOPersistentVolumeSource`,
  scaleIOVolumeSource.description,
  {
    ...scaleIOVolumeSource.fields,
    secretRef: pointer(3, secretReference, 'Secret for the gateway.', { required: true }),
  },
);

export const storageOSPersistentVolumeSource = struct(
  `${core}.StorageOSPersistentVolumeSource`,
  storageOSVolumeSource.description,
  {
    ...storageOSVolumeSource.fields,
    secretRef: pointer(5, objectReference, 'Secret for StorageOS.'),
  },
);
