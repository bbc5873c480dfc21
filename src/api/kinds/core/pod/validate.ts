// Validates Pods and their templates as Kubernetes does, in the order of Kubernetes. Options of Windows, claims of devices and
// fields whose feature gates are off in Kubernetes are stored without validation.
import { addressErrors } from '../../../address-errors.ts';
import type { FieldError } from '../../../field-errors.ts';
import {
  duplicate,
  forbiddenField,
  invalidAll,
  invalidValue,
  notFound,
  required,
  tooLong,
} from '../../../field-errors.ts';
import { dnsLabelErrors, dnsSubdomainErrors, qualifiedNameErrors } from '../../../names.ts';
import { validateAnnotations, validateLabels } from '../../../validate-metadata.ts';
import type { Container, PodSpec, PodTemplateSpec } from './schema.ts';
import { tolerationErrors } from './tolerations.ts';
import { affinityErrors, spreadErrors } from './validate-affinity.ts';
import type { PodFacts } from './validate-container.ts';
import { containerErrors, initRestartErrors, restartErrors, wordErrors } from './validate-container.ts';
import { dnsErrors } from './validate-dns.ts';
import { fileVariableErrors } from './validate-environment.ts';
import { handlersErrors } from './validate-handlers.ts';
import { resourceErrors } from './validate-resources.ts';
import { podSecurityErrors } from './validate-security.ts';
import { volumeErrors } from './validate-volumes.ts';

/** Validation errors of the template of a workload at `path`. */
export const podTemplateErrors = ({ metadata, spec }: PodTemplateSpec, path: string): readonly FieldError[] => [
  ...validateLabels(`${path}.labels`, metadata.labels),
  ...validateAnnotations(`${path}.annotations`, metadata.annotations),
  ...podSpecErrors(spec, `${path}.spec`),
  ...((spec.ephemeralContainers ?? []).length === 0
    ? []
    : [forbiddenField(`${path}.spec.ephemeralContainers`, 'ephemeral containers not allowed in pod template')]),
];

/** Validation errors of a Pod's own spec, which must also have images without spaces around them. */
export const ownSpecErrors = (spec: PodSpec): readonly FieldError[] => [
  ...podSpecErrors(spec, 'spec'),
  ...containersOf(spec, 'spec').flatMap(({ container: { image = '' }, path }) =>
    image.trim() === image
      ? []
      : [invalidValue(`${path}.image`, image, 'must not have leading or trailing whitespace')],
  ),
];

/** Validation errors of the spec of a Pod or template at `path`. */
function podSpecErrors(spec: PodSpec, path: string): readonly FieldError[] {
  const { errors, valid: volumes } = volumeErrors(spec.volumes ?? [], `${path}.volumes`);
  const { securityContext, affinity, hostUsers = true, preemptionPolicy, os } = spec;
  return [
    ...errors,
    ...allContainerErrors(spec, path, { volumes, restartPolicy: spec.restartPolicy, hasHostUsers: hostUsers }),
    ...hostNetworkErrors(spec, path),
    ...wordErrors(spec.restartPolicy, `${path}.restartPolicy`, ['Always', 'OnFailure', 'Never']),
    ...wordErrors(spec.dnsPolicy, `${path}.dnsPolicy`, ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None']),
    ...validateLabels(`${path}.nodeSelector`, spec.nodeSelector),
    ...(securityContext === undefined ? [] : podSecurityErrors(securityContext, `${path}.securityContext`, spec)),
    ...(affinity === undefined ? [] : affinityErrors(affinity, `${path}.affinity`)),
    ...dnsErrors(spec.dnsConfig, `${path}.dnsConfig`, spec.dnsPolicy),
    ...gateErrors(spec, path),
    ...spreadErrors(spec.topologySpreadConstraints ?? [], `${path}.topologySpreadConstraints`),
    ...hostUserErrors(spec, path),
    ...hostnameErrors(spec, `${path}.hostnameOverride`),
    ...nameErrors(spec.serviceAccountName, `${path}.serviceAccountName`, dnsSubdomainErrors),
    ...nameErrors(spec.nodeName, `${path}.nodeName`, dnsSubdomainErrors),
    ...deadlineErrors(spec, path),
    ...nameErrors(spec.hostname, `${path}.hostname`, dnsLabelErrors),
    ...nameErrors(spec.subdomain, `${path}.subdomain`, dnsLabelErrors),
    ...tolerationErrors(spec.tolerations ?? [], `${path}.tolerations`),
    ...aliasErrors(spec.hostAliases ?? [], `${path}.hostAliases`),
    ...nameErrors(spec.priorityClassName, `${path}.priorityClassName`, dnsSubdomainErrors),
    ...nameErrors(spec.runtimeClassName, `${path}.runtimeClassName`, dnsSubdomainErrors),
    ...(preemptionPolicy === undefined
      ? []
      : wordErrors(preemptionPolicy, `${path}.preemptionPolicy`, ['PreemptLowerPriority', 'Never'])),
    ...resourceErrors({ limits: spec.overhead ?? {} }, `${path}.overhead`),
    ...(os === undefined ? [] : systemErrors(os.name, `${path}.os`)),
    ...containersOf(spec, path).flatMap((each) =>
      fileVariableErrors(each.container, each.path, new Map((spec.volumes ?? []).map((one) => [one.name, one]))),
    ),
  ];
}

const nameErrors = (
  name: string | undefined,
  path: string,
  problemsOf: (name: string) => readonly string[],
): readonly FieldError[] => (name === undefined ? [] : invalidAll(path, name, problemsOf(name)));

/** All containers in the order in which Kubernetes visits them. */
const containersOf = (
  { initContainers = [], containers, ephemeralContainers = [] }: PodSpec,
  path: string,
): readonly { readonly container: Container; readonly path: string }[] =>
  Object.entries({ initContainers, containers: containers ?? [], ephemeralContainers }).flatMap(([field, list]) =>
    list.map((container, index) => ({ container, path: `${path}.${field}[${index}]` })),
  );

function allContainerErrors(spec: PodSpec, path: string, pod: PodFacts): readonly FieldError[] {
  const { initContainers = [], ephemeralContainers = [], terminationGracePeriodSeconds: grace = 30 } = spec;
  const containers = spec.containers ?? [];
  const names = new Set<string>();
  const nameAndContent = (container: Container, at: string): FieldError[] => {
    const isTaken = names.has(container.name);
    names.add(container.name);
    return [...containerErrors(container, at, pod), ...(isTaken ? [duplicate(`${at}.name`, container.name)] : [])];
  };
  const errors = containers.flatMap((container, index) => {
    const at = `${path}.containers[${index}]`;
    return [...nameAndContent(container, at), ...handlersErrors(container, at, grace), ...restartErrors(container, at)];
  });
  if (containers.length === 0) errors.push(required(`${path}.containers`));
  errors.push(...hostPortErrors(containers, `${path}.containers`));
  for (const [index, container] of initContainers.entries()) {
    const at = `${path}.initContainers[${index}]`;
    errors.push(...nameAndContent(container, at), ...initRestartErrors(container, at));
    errors.push(...hostPortErrors([container], `${path}.initContainers`));
    errors.push(
      ...(container.restartPolicy === 'Always' ? handlersErrors(container, at, grace) : onceErrors(container, at)),
    );
  }
  const others = new Set(names);
  for (const [index, container] of ephemeralContainers.entries()) {
    const at = `${path}.ephemeralContainers[${index}]`;
    const { targetContainerName: target = '' } = container;
    errors.push(...nameAndContent(container, at));
    if (target !== '' && !others.has(target)) errors.push(notFound(`${at}.targetContainerName`, target));
    errors.push(...debuggingErrors(container, at));
  }
  return errors;
}

const onlyMain = ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const;

/** Errors of fields that an init container cannot have, unless it is a sidecar. */
const onceErrors = (container: Container, path: string): readonly FieldError[] =>
  onlyMain
    .filter((field) => container[field] !== undefined)
    .map((field) =>
      forbiddenField(`${path}.${field}`, 'may not be set for init containers without restartPolicy=Always'),
    );

const notForDebugging = [
  'ports',
  'resizePolicy',
  'restartPolicy',
  'restartPolicyRules',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
] as const;

/** Errors of fields that a container for debugging cannot have. */
function debuggingErrors(container: Container, path: string): readonly FieldError[] {
  const detail = 'cannot be set for an Ephemeral Container';
  const { limits = {}, requests = {}, claims = [] } = container.resources;
  const hasResources = Object.keys(limits).length + Object.keys(requests).length + claims.length > 0;
  return [
    ...notForDebugging
      .filter((field) => container[field] !== undefined)
      .map((field) => forbiddenField(`${path}.${field}`, detail)),
    ...(hasResources ? [forbiddenField(`${path}.resources`, detail)] : []),
    ...(container.volumeMounts ?? []).flatMap((mount, index) =>
      (['subPath', 'subPathExpr'] as const)
        .filter((field) => (mount[field] ?? '') !== '')
        .map((field) => forbiddenField(`${path}.volumeMounts[${index}].${field}`, detail)),
    ),
  ];
}

/** Errors of host ports that several of these containers have. */
function hostPortErrors(containers: readonly Container[], path: string): FieldError[] {
  const taken = new Set<string>();
  return containers.flatMap(({ ports = [] }, index) =>
    ports.flatMap(({ hostPort = 0, protocol = 'TCP', hostIP = '' }, item) => {
      const port = `${protocol}/${hostIP}/${hostPort}`;
      const isTaken = hostPort !== 0 && taken.has(port);
      taken.add(port);
      return isTaken ? [duplicate(`${path}[${index}].ports[${item}].hostPort`, port)] : [];
    }),
  );
}

function hostNetworkErrors({ hostNetwork = false, containers }: PodSpec, path: string): readonly FieldError[] {
  if (!hostNetwork) return [];
  const detail = 'must match `containerPort` when `hostNetwork` is true';
  return (containers ?? []).flatMap(({ ports = [] }, index) =>
    ports.flatMap(({ hostPort = 0, containerPort }, item) =>
      hostPort === 0 || hostPort === containerPort
        ? []
        : [invalidValue(`${path}.containers[${index}].ports[${item}].hostPort`, hostPort, detail)],
    ),
  );
}

/** As in Kubernetes, the names of these fields begin with a capital letter. */
function hostUserErrors(
  { hostUsers = true, hostNetwork = false, hostPID = false, hostIPC = false }: PodSpec,
  path: string,
): readonly FieldError[] {
  if (hostUsers) return [];
  return Object.entries({ hostNetwork, HostPID: hostPID, HostIPC: hostIPC })
    .filter(([, isSet]) => isSet)
    .map(([field]) => forbiddenField(`${path}.${field}`, 'when `hostUsers` is false'));
}

/** As in Kubernetes, an unknown system is an error of the object. */
const systemErrors = (name: string, path: string): readonly FieldError[] =>
  name === '' ? [required(`${path}.name`)] : wordErrors(name, path, ['linux', 'windows']);

/** Errors of a host name for the Pod itself. */
function hostnameErrors(
  { hostnameOverride: name, setHostnameAsFQDN = false, hostNetwork = false }: PodSpec,
  path: string,
): readonly FieldError[] {
  if (name === undefined) return [];
  return [
    ...(setHostnameAsFQDN ? [forbiddenField(path, 'may not be specified when setHostnameAsFQDN is true')] : []),
    ...(hostNetwork ? [forbiddenField(path, 'may not be specified when hostNetwork is true')] : []),
    ...(name.length > maxHostnameBytes ? [tooLong(path, maxHostnameBytes)] : []),
    ...invalidAll(path, name, dnsSubdomainErrors(name)),
  ];
}

const maxHostnameBytes = 64;

const aliasErrors = (aliases: NonNullable<PodSpec['hostAliases']>, path: string): readonly FieldError[] =>
  aliases.flatMap(({ ip, hostnames = [] }, index) => [
    ...invalidAll(`${path}[${index}].ip`, ip, addressErrors(ip, false)),
    ...hostnames.flatMap((name, item) =>
      invalidAll(`${path}[${index}].hostnames[${item}]`, name, dnsSubdomainErrors(name)),
    ),
  ]);

function gateErrors({ readinessGates = [], schedulingGates = [] }: PodSpec, path: string): readonly FieldError[] {
  return [
    ...readinessGates.flatMap(({ conditionType }, index) =>
      nameErrors(conditionType, `${path}.readinessGates[${index}].conditionType`, qualifiedNameErrors),
    ),
    ...schedulingGates.flatMap(({ name }, index) =>
      nameErrors(name, `${path}.schedulingGates[${index}]`, qualifiedNameErrors),
    ),
  ];
}

function deadlineErrors({ activeDeadlineSeconds: seconds }: PodSpec, path: string): readonly FieldError[] {
  if (seconds === undefined || (seconds >= 1 && seconds <= 2147483647)) return [];
  return [invalidValue(`${path}.activeDeadlineSeconds`, seconds, 'must be between 1 and 2147483647, inclusive')];
}
