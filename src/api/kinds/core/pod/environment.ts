// Environment variables of a container and their sources.
import { always, atomic, boolean, optional, pointer, string, struct } from '../../../schema/schema.ts';
import { objectFieldSelector, resourceFieldSelector } from '../references.ts';

const core = 'io.k8s.api.core.v1';

const configMapKeySelector = atomic(
  struct(`${core}.ConfigMapKeySelector`, 'Selects a key of a ConfigMap.', {
    name: optional(1, string, 'Name of the object.', { default: '', inline: 1 }),
    key: always(2, string, 'The key.', { required: true }),
    optional: pointer(3, boolean, 'Whether the ConfigMap or key may be missing.'),
  }),
);

const secretKeySelector = atomic(
  struct(`${core}.SecretKeySelector`, 'Selects a key of a Secret.', {
    name: optional(1, string, 'Name of the object.', { default: '', inline: 1 }),
    key: always(2, string, 'The key.', { required: true }),
    optional: pointer(3, boolean, 'Whether the Secret or key may be missing.'),
  }),
);

const fileKeySelector = atomic(
  struct(`${core}.FileKeySelector`, 'Selects a key of an environment file.', {
    volumeName: always(1, string, 'The volume that holds the file.', { required: true }),
    path: always(2, string, 'Path of the file inside the volume.', { required: true }),
    key: always(3, string, 'The variable in the file.', { required: true }),
    optional: pointer(4, boolean, 'Whether the file or key may be missing.', { default: false }),
  }),
);

const envVarSource = struct(`${core}.EnvVarSource`, 'A source of the value of a variable.', {
  fieldRef: pointer(1, objectFieldSelector, 'A field of the Pod.'),
  resourceFieldRef: pointer(2, resourceFieldSelector, 'A resource limit or request of a container.'),
  configMapKeyRef: pointer(3, configMapKeySelector, 'A key of a ConfigMap.'),
  secretKeyRef: pointer(4, secretKeySelector, 'A key of a Secret.'),
  fileKeyRef: pointer(5, fileKeySelector, 'A key of a file in a volume.'),
});

export const envVar = struct(`${core}.EnvVar`, 'One environment variable.', {
  name: always(1, string, 'Name of the variable.', { required: true }),
  value: optional(2, string, 'Its value; $(NAME) refers to other variables.'),
  valueFrom: pointer(3, envVarSource, 'Source of the value. Excludes value.'),
});

const configMapEnvSource = struct(`${core}.ConfigMapEnvSource`, 'A ConfigMap whose keys are variables.', {
  name: optional(1, string, 'Name of the object.', { default: '', inline: 1 }),
  optional: pointer(2, boolean, 'Whether the ConfigMap may be missing.'),
});

const secretEnvSource = struct(`${core}.SecretEnvSource`, 'A Secret whose keys are variables.', {
  name: optional(1, string, 'Name of the object.', { default: '', inline: 1 }),
  optional: pointer(2, boolean, 'Whether the Secret may be missing.'),
});

export const envFromSource = struct(
  `${core}.EnvFromSource`,
  'Defines a variable for every key of a ConfigMap or Secret.',
  {
    prefix: optional(1, string, 'Prefix of the names.'),
    configMapRef: pointer(2, configMapEnvSource, 'The ConfigMap.'),
    secretRef: pointer(3, secretEnvSource, 'The Secret.'),
  },
);
