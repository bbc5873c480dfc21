import { edited } from './edited.ts';
import type { Container } from './schema.ts';

/** Fills in a container; ephemeral ones have the same fields. */
export function containerDefaults<C extends Container>(given: C): C {
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

/** Whether an image has the tag `latest`, which is also meant when there is neither tag nor digest. */
function isLatest(image: string): boolean {
  if (image === '' || image.includes('@')) return false;
  const last = image.slice(image.lastIndexOf('/') + 1);
  const colon = last.indexOf(':');
  return colon < 0 || last.slice(colon + 1) === 'latest';
}

type EnvVar = NonNullable<Container['env']>[number];

const variableDefaults = (variable: EnvVar): EnvVar =>
  edited(variable, 'valueFrom', (source) =>
    edited(source, 'fieldRef', (field) => ({ ...field, apiVersion: field.apiVersion ?? 'v1' })),
  );

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
  const withHttp = edited(probe, 'httpGet', httpDefaults);
  return edited(withHttp, 'grpc', (grpc) => ({ ...grpc, service: grpc.service ?? '' }));
}

type Lifecycle = NonNullable<Container['lifecycle']>;

function lifecycleDefaults(given: Lifecycle): Lifecycle {
  const started = edited(given, 'postStart', (hook) => edited(hook, 'httpGet', httpDefaults));
  return edited(started, 'preStop', (hook) => edited(hook, 'httpGet', httpDefaults));
}
