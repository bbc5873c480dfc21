// Validates security contexts as Kubernetes does. Options of Windows are stored without validation.
import type { FieldError } from '../../../field-errors.ts';
import { duplicate, invalidValue, notSupported, required, tooLong } from '../../../field-errors.ts';
import { relativePathErrors } from '../volume-errors.ts';
import type { Container, PodSpec } from './schema.ts';

type ContainerContext = NonNullable<Container['securityContext']>;
type PodContext = NonNullable<PodSpec['securityContext']>;

const maxId = 2_147_483_647;

const idErrors = (id: number | undefined, path: string): readonly FieldError[] =>
  id === undefined || (id >= 0 && id <= maxId)
    ? []
    : [invalidValue(path, id, `must be between 0 and ${maxId}, inclusive`)];

const wordErrors = (word: string | undefined, path: string, words: readonly string[]): readonly FieldError[] =>
  word === undefined || words.includes(word) ? [] : [notSupported(path, word, words)];

/** Validation errors of the security context of a container at `path`. */
export function containerSecurityErrors(
  context: ContainerContext,
  path: string,
  hasHostUsers: boolean,
): readonly FieldError[] {
  const { runAsUser, runAsGroup, procMount, seccompProfile, appArmorProfile } = context;
  return [
    ...idErrors(runAsUser, `${path}.runAsUser`),
    ...idErrors(runAsGroup, `${path}.runAsGroup`),
    ...wordErrors(procMount, `${path}.procMount`, ['Default', 'Unmasked']),
    ...(hasHostUsers && procMount === 'Unmasked'
      ? [invalidValue(`${path}.procMount`, procMount, '`hostUsers` must be false to use `Unmasked`')]
      : []),
    ...seccompErrors(seccompProfile, `${path}.seccompProfile`),
    ...escalationErrors(context, path),
    ...appArmorErrors(appArmorProfile, `${path}.appArmorProfile`),
  ];
}

function escalationErrors(context: ContainerContext, path: string): readonly FieldError[] {
  const { allowPrivilegeEscalation, privileged = false, capabilities } = context;
  if (allowPrivilegeEscalation !== false) return [];
  const both = (other: string): FieldError =>
    invalidValue(path, context, `cannot set \`allowPrivilegeEscalation\` to false and ${other}`);
  return [
    ...(privileged ? [both('`privileged` to true')] : []),
    ...(capabilities?.add ?? [])
      .filter((capability) => capability === 'CAP_SYS_ADMIN')
      .map(() => both('`capabilities.Add` CAP_SYS_ADMIN')),
  ];
}

const profileTypes: readonly string[] = ['Localhost', 'RuntimeDefault', 'Unconfined'];

function seccompErrors(profile: ContainerContext['seccompProfile'], path: string): readonly FieldError[] {
  if (profile === undefined) return [];
  const { type, localhostProfile: file } = profile;
  const at = `${path}.localhostProfile`;
  const isLocal = type === 'Localhost';
  return [
    ...typeErrors(type, path, 'seccompProfile'),
    ...(isLocal && file === undefined ? [required(at, 'must be set when seccomp type is Localhost')] : []),
    ...(isLocal && file !== undefined ? relativePathErrors(file, at) : []),
    ...(!isLocal && file !== undefined
      ? [invalidValue(at, { Type: type, LocalhostProfile: file }, 'can only be set when seccomp type is Localhost')]
      : []),
  ];
}

const typeErrors = (type: string, path: string, field: string): readonly FieldError[] =>
  type === ''
    ? [required(`${path}.type`, `type is required when ${field} is set`)]
    : wordErrors(type, `${path}.type`, profileTypes);

const maxProfileBytes = 4095;

function appArmorErrors(profile: ContainerContext['appArmorProfile'], path: string): readonly FieldError[] {
  if (profile === undefined) return [];
  const { type, localhostProfile: name } = profile;
  const at = `${path}.localhostProfile`;
  if (type !== 'Localhost') {
    const isKnown = profileTypes.includes(type);
    return [
      ...typeErrors(type, path, 'appArmorProfile'),
      ...(isKnown && name !== undefined
        ? [invalidValue(at, name, 'can only be set when AppArmor type is Localhost')]
        : []),
    ];
  }
  if (name === undefined) return [required(at, 'must be set when AppArmor type is Localhost')];
  return [
    ...(name.trim() === name ? [] : [invalidValue(at, name, 'must not be padded with whitespace')]),
    ...(name === '' ? [required(at, 'must be set when AppArmor type is Localhost')] : []),
    ...(Buffer.byteLength(name) > maxProfileBytes ? [tooLong(at, maxProfileBytes)] : []),
  ];
}

/** Validation errors of the security context of a Pod at `path`. */
export function podSecurityErrors(
  context: PodContext,
  path: string,
  { hostPID = false, shareProcessNamespace = false }: PodSpec,
): readonly FieldError[] {
  const { fsGroup, runAsUser, runAsGroup, supplementalGroups = [], sysctls = [] } = context;
  return [
    ...idErrors(fsGroup, `${path}.fsGroup`),
    ...idErrors(runAsUser, `${path}.runAsUser`),
    ...idErrors(runAsGroup, `${path}.runAsGroup`),
    ...supplementalGroups.flatMap((id, index) => idErrors(id, `${path}.supplementalGroups[${index}]`)),
    ...(hostPID && shareProcessNamespace
      ? [
          invalidValue(
            `${path}.shareProcessNamespace`,
            true,
            'ShareProcessNamespace and HostPID cannot both be enabled',
          ),
        ]
      : []),
    ...sysctlErrors(sysctls, `${path}.sysctls`),
    ...wordErrors(context.fsGroupChangePolicy, `${path}.fsGroupChangePolicy`, ['Always', 'OnRootMismatch']),
    ...seccompErrors(context.seccompProfile, `${path}.seccompProfile`),
    ...appArmorErrors(context.appArmorProfile, `${path}.appArmorProfile`),
    ...wordErrors(context.supplementalGroupsPolicy, `${path}.supplementalGroupsPolicy`, ['Merge', 'Strict']),
    ...wordErrors(context.seLinuxChangePolicy, `${path}.seLinuxChangePolicy`, ['Recursive']),
  ];
}

const sysctlName = /^(?:[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?$/;
const maxSysctlName = 253;
const badSysctl = String.raw`must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`;

function sysctlErrors(sysctls: NonNullable<PodContext['sysctls']>, path: string): readonly FieldError[] {
  const names = new Set<string>();
  return sysctls.flatMap(({ name }, index) => {
    const at = `${path}[${index}].name`;
    const isRepeated = names.has(name);
    names.add(name);
    if (name === '') return [required(at)];
    if (name.length > maxSysctlName || !sysctlName.test(name)) return [invalidValue(at, name, badSysctl)];
    return isRepeated ? [duplicate(at, name)] : [];
  });
}
