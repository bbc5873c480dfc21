// Security settings of Pods and containers.
import { always, boolean, int64, list, optional, pointer, string, struct } from '../../../schema/schema.ts';

const core = 'io.k8s.api.core.v1';

const capabilities = struct(`${core}.Capabilities`, 'Linux capabilities to add and to drop.', {
  add: optional(1, list(string), 'Capabilities to add.'),
  drop: optional(2, list(string), 'Capabilities to drop.'),
});

const seLinuxOptions = struct(`${core}.SELinuxOptions`, 'An SELinux label.', {
  user: optional(1, string, 'User part of the label.'),
  role: optional(2, string, 'Role part of the label.'),
  type: optional(3, string, 'Type part of the label.'),
  level: optional(4, string, 'Level part of the label.'),
});

const windowsSecurityContextOptions = struct(`${core}.WindowsSecurityContextOptions`, 'Windows-specific settings.', {
  gmsaCredentialSpecName: pointer(1, string, 'Name of the GMSA credential spec.'),
  gmsaCredentialSpec: pointer(2, string, 'Contents of the GMSA credential spec.'),
  runAsUserName: pointer(3, string, 'Windows user to run as.'),
  hostProcess: pointer(4, boolean, 'Whether to run as a host process container.'),
});

const seccompProfile = struct(`${core}.SeccompProfile`, 'A seccomp profile.', {
  type: always(1, string, 'Unconfined, RuntimeDefault or Localhost.', { required: true }),
  localhostProfile: pointer(2, string, 'File of the profile, for Localhost.'),
});

const appArmorProfile = struct(`${core}.AppArmorProfile`, 'An AppArmor profile.', {
  type: always(1, string, 'Unconfined, RuntimeDefault or Localhost.', { required: true }),
  localhostProfile: pointer(2, string, 'Name of the loaded profile, for Localhost.'),
});

export const securityContext = struct(
  `${core}.SecurityContext`,
  'Security settings of one container; they take precedence over those of the Pod.',
  {
    capabilities: pointer(1, capabilities, 'Capabilities to add and drop.'),
    privileged: pointer(2, boolean, 'Whether the container runs in privileged mode.'),
    seLinuxOptions: pointer(3, seLinuxOptions, 'SELinux label of the container.'),
    windowsOptions: pointer(10, windowsSecurityContextOptions, 'Settings on Windows.'),
    runAsUser: pointer(4, int64, 'User ID to run as.'),
    runAsGroup: pointer(8, int64, 'Group ID to run as.'),
    runAsNonRoot: pointer(5, boolean, 'Whether to refuse to run as user 0.'),
    readOnlyRootFilesystem: pointer(6, boolean, 'Whether the root file system is read-only.'),
    allowPrivilegeEscalation: pointer(7, boolean, 'Whether a process may gain more privileges than its parent.'),
    procMount: pointer(9, string, 'How /proc is mounted.'),
    seccompProfile: pointer(11, seccompProfile, 'Seccomp profile of the container.'),
    appArmorProfile: pointer(12, appArmorProfile, 'AppArmor profile of the container.'),
  },
);

const sysctl = struct(`${core}.Sysctl`, 'A kernel parameter.', {
  name: always(1, string, 'Name of the parameter.', { required: true }),
  value: always(2, string, 'Its value.', { required: true }),
});

export const podSecurityContext = struct(
  `${core}.PodSecurityContext`,
  'Security settings for all containers of a Pod.',
  {
    seLinuxOptions: pointer(1, seLinuxOptions, 'SELinux label of all containers.'),
    windowsOptions: pointer(8, windowsSecurityContextOptions, 'Settings on Windows.'),
    runAsUser: pointer(2, int64, 'User ID to run as.'),
    runAsGroup: pointer(6, int64, 'Group ID to run as.'),
    runAsNonRoot: pointer(3, boolean, 'Whether to refuse to run as user 0.'),
    supplementalGroups: optional(4, list(int64), 'Further groups of the first process.'),
    supplementalGroupsPolicy: pointer(12, string, 'Whether groups of the image are added.'),
    fsGroup: pointer(5, int64, 'Group that owns volumes.'),
    sysctls: optional(7, list(sysctl), 'Kernel parameters to set.'),
    fsGroupChangePolicy: pointer(9, string, 'When ownership of a volume is changed.'),
    seccompProfile: pointer(10, seccompProfile, 'Seccomp profile of all containers.'),
    appArmorProfile: pointer(11, appArmorProfile, 'AppArmor profile of all containers.'),
    seLinuxChangePolicy: pointer(13, string, 'How volumes are labelled.'),
  },
);
