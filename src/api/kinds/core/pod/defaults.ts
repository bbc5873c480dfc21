// Defaults of Pods and Pod templates, as in Kubernetes.
import type { PodSpec, Container, Pod } from './schema.ts';

/** Sets the defaults of a Pod: those of templates, and those of Pods only. */
export function podDefaults(pod: Pod): Pod {
  const spec = podSpecDefaults({ ...pod.spec, enableServiceLinks: pod.spec.enableServiceLinks ?? true });
  return {
    ...pod,
    spec: mapContainers(spec, (given) => podContainerDefaults(given, spec)),
    status: syncedIps(pod.status),
  };
}

/** Sets the defaults of the spec of a Pod or of a template. */
export function podSpecDefaults(given: PodSpec): PodSpec {
  const account = given.serviceAccountName ?? given.serviceAccount;
  const spec: PodSpec = {
    ...given,
    restartPolicy: given.restartPolicy ?? 'Always',
    terminationGracePeriodSeconds: graceOf(given),
    dnsPolicy: given.dnsPolicy ?? 'ClusterFirst',
    securityContext: given.securityContext ?? {},
    schedulerName: given.schedulerName ?? 'default-scheduler',
    ...(account === undefined ? {} : { serviceAccountName: account, serviceAccount: account }),
  };
  const withContainers = mapField(mapContainers(spec, containerDefaults), 'ephemeralContainers', (containers) =>
    containers.map(containerDefaults),
  );
  return mapField(withContainers, 'volumes', (volumes) => volumes.map(volumeDefaults));
}

/** The grace period in seconds; negative numbers mean 1. */
const graceOf = ({ terminationGracePeriodSeconds: seconds = 30 }: PodSpec): number => (seconds < 0 ? 1 : seconds);

function mapContainers(spec: PodSpec, edit: (container: Container) => Container): PodSpec {
  const containers = mapField(spec, 'containers', (given) => given.map(edit));
  return mapField(containers, 'initContainers', (given) => given.map(edit));
}

function podContainerDefaults(container: Container, { hostNetwork }: PodSpec): Container {
  const { limits, requests } = container.resources;
  const requested =
    limits === undefined
      ? container
      : { ...container, resources: { ...container.resources, requests: { ...limits, ...requests } } };
  if (!hostNetwork) return requested;
  return mapField(requested, 'ports', (ports) =>
    ports.map((port) => ({ ...port, hostPort: port.hostPort ?? port.containerPort })),
  );
}

/** Sets podIP and podIPs from each other; podIP has precedence, because older nodes write only that. */
function syncedIps(status: Pod['status']): Pod['status'] {
  const { podIP, podIPs = [] } = status;
  const first = podIPs[0]?.ip;
  if (podIP !== undefined && podIP !== first) return { ...status, podIPs: [{ ip: podIP }] };
  return podIP === undefined && first !== undefined ? { ...status, podIP: first } : status;
}

/** Sets the defaults of a container or an ephemeral container. */
function containerDefaults<C extends Container>(given: C): C {
  const container: Container = {
    ...given,
    imagePullPolicy: given.imagePullPolicy ?? (isLatest(given.image ?? '') ? 'Always' : 'IfNotPresent'),
    terminationMessagePath: given.terminationMessagePath ?? '/dev/termination-log',
    terminationMessagePolicy: given.terminationMessagePolicy ?? 'File',
    ...(given.ports && { ports: given.ports.map((port) => ({ ...port, protocol: port.protocol ?? 'TCP' })) }),
    ...(given.env && { env: given.env.map(variableDefaults) }),
    ...(given.livenessProbe && { livenessProbe: probeDefaults(given.livenessProbe) }),
    ...(given.readinessProbe && { readinessProbe: probeDefaults(given.readinessProbe) }),
    ...(given.startupProbe && { startupProbe: probeDefaults(given.startupProbe) }),
    ...(given.lifecycle && { lifecycle: lifecycleDefaults(given.lifecycle) }),
  };
  return { ...given, ...container };
}

/** Whether the tag of an image is `latest`, explicitly or without tag and digest. */
function isLatest(image: string): boolean {
  if (image === '' || image.includes('@')) return false;
  const last = image.slice(image.lastIndexOf('/') + 1);
  const colon = last.indexOf(':');
  return colon < 0 || last.slice(colon + 1) === 'latest';
}

type EnvVar = NonNullable<Container['env']>[number];

const variableDefaults = (variable: EnvVar): EnvVar => mapField(variable, 'valueFrom', fieldDefaults);

/** Sets the version of a reference to a field. */
const fieldDefaults = <T extends { readonly fieldRef?: { readonly apiVersion?: string; readonly fieldPath: string } }>(
  source: T,
): T => mapField(source, 'fieldRef', (field) => ({ ...field, apiVersion: field.apiVersion ?? 'v1' }));

type Probe = NonNullable<Container['livenessProbe']>;
type HttpGet = NonNullable<Probe['httpGet']>;

const httpDefaults = (given: HttpGet): HttpGet => ({
  ...given,
  path: given.path ?? '/',
  scheme: given.scheme ?? 'HTTP',
});

function probeDefaults(given: Probe): Probe {
  const probe: Probe = {
    ...given,
    timeoutSeconds: given.timeoutSeconds ?? 1,
    periodSeconds: given.periodSeconds ?? 10,
    successThreshold: given.successThreshold ?? 1,
    failureThreshold: given.failureThreshold ?? 3,
  };
  const withHttp = mapField(probe, 'httpGet', httpDefaults);
  return mapField(withHttp, 'grpc', (grpc) => ({ ...grpc, service: grpc.service ?? '' }));
}

type Lifecycle = NonNullable<Container['lifecycle']>;

function lifecycleDefaults(given: Lifecycle): Lifecycle {
  const started = mapField(given, 'postStart', (hook) => mapField(hook, 'httpGet', httpDefaults));
  return mapField(started, 'preStop', (hook) => mapField(hook, 'httpGet', httpDefaults));
}

type Volume = NonNullable<PodSpec['volumes']>[number];

const readableMode = 0o644;

const withMode = <T extends { readonly defaultMode?: number }>(source: T): T => ({
  ...source,
  defaultMode: source.defaultMode ?? readableMode,
});

/** Sets the defaults of a volume; a volume without a source is an emptyDir. */
function volumeDefaults(given: Volume): Volume {
  if (Object.keys(given).length === 1) return { ...given, emptyDir: {} };
  const hostPath = mapField(given, 'hostPath', (source) => ({ ...source, type: source.type ?? '' }));
  const secret = mapField(hostPath, 'secret', withMode);
  const configMap = mapField(secret, 'configMap', withMode);
  const downward = mapField(configMap, 'downwardAPI', (source) => withFields(withMode(source)));
  const iscsi = mapField(downward, 'iscsi', (source) => ({
    ...source,
    iscsiInterface: source.iscsiInterface ?? 'default',
  }));
  const ephemeral = mapField(iscsi, 'ephemeral', (source) =>
    mapField(source, 'volumeClaimTemplate', (template) =>
      mapField(template, 'spec', (spec) => ({ ...spec, volumeMode: spec.volumeMode ?? 'Filesystem' })),
    ),
  );
  return mapField(ephemeral, 'projected', (source) =>
    mapField(withMode(source), 'sources', (parts) => parts.map(projectionDefaults)),
  );
}

type Projection = NonNullable<NonNullable<Volume['projected']>['sources']>[number];

function projectionDefaults(given: Projection): Projection {
  const part = mapField(given, 'downwardAPI', withFields);
  return mapField(part, 'serviceAccountToken', (token) => ({
    ...token,
    expirationSeconds: token.expirationSeconds ?? 3600,
  }));
}

const withFields = <T extends Pick<NonNullable<Volume['downwardAPI']>, 'items'>>(source: T): T =>
  mapField(source, 'items', (items) => items.map(fieldDefaults));

/** Copies `object` with `edit` applied to the value of `key`, if it is set. */
export function mapField<T extends object, K extends keyof T>(
  object: T,
  key: K,
  edit: (value: NonNullable<T[K]>) => T[K],
): T {
  const value = object[key];
  return value === undefined || value === null ? object : { ...object, [key]: edit(value) };
}
