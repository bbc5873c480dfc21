// The values of an installation: those of the Helm chart and of `fairlead install --values`. deploy/helm/fairlead is generated from them.
import { UsageError } from '../errors.ts';

/** The parts that can be installed, in the order of the documentation. */
export const installedParts = [
  'dns',
  'multicluster',
  'reaper',
  'controllers',
  'proxy',
  'loadbalancer',
  'gateway',
] as const;
export type InstalledPart = (typeof installedParts)[number];

/** A JSON Schema of a value. */
type ValueSchema = Readonly<Record<string, unknown>>;

export interface Value {
  readonly description: string;
  readonly default: unknown;
  readonly schema: ValueSchema;
}

const text = (fallback: string, description: string): Value => ({
  description,
  default: fallback,
  schema: { type: 'string' },
});
const flag = (fallback: boolean, description: string): Value => ({
  description,
  default: fallback,
  schema: { type: 'boolean' },
});
const list = (fallback: readonly unknown[], items: ValueSchema, description: string): Value => ({
  description,
  default: fallback,
  schema: { type: 'array', items },
});
const object = (fallback: object, description: string): Value => ({
  description,
  default: fallback,
  schema: { type: 'object' },
});
const labels = (description: string): Value => ({
  description,
  default: {},
  schema: { type: 'object', additionalProperties: { type: 'string' } },
});

/** What all parts have. */
const common = (
  isEnabled: boolean,
  args: readonly string[],
  memory: { readonly request: string; readonly limit: string },
): Readonly<Record<string, Value>> => ({
  enabled: flag(isEnabled, 'Whether to install it.'),
  args: list(args, { type: 'string' }, 'Further flags, see docs/reference/flags.md.'),
  resources: object(
    { requests: { cpu: '100m', memory: memory.request }, limits: { memory: memory.limit } },
    'Resources of the container.',
  ),
  nodeSelector: labels('Labels of the nodes to run on.'),
  tolerations: list([], { type: 'object' }, 'Tolerations of the Pods.'),
  serviceAccountAnnotations: labels('Annotations of the service account, such as that of a role of a cloud.'),
});

const replicas: Value = { description: 'Number of replicas.', default: 2, schema: { type: 'integer', minimum: 1 } };

const small = { request: '128Mi', limit: '512Mi' };
const large = { request: '256Mi', limit: '2Gi' };

/** Section → value. */
export const sections: Readonly<Record<string, Readonly<Record<string, Value>>>> = {
  image: {
    repository: text('registry.example.org/fairlead', 'The image that deploy/Containerfile builds.'),
    tag: text('', 'Its tag; default: the version of the chart.'),
    pullPolicy: {
      description: 'When to pull it.',
      default: 'IfNotPresent',
      schema: { type: 'string', enum: ['Always', 'IfNotPresent', 'Never'] },
    },
    pullSecrets: list([], { type: 'object' }, 'Secrets for its registry, as [{ name: NAME }].'),
  },
  crds: {
    install: flag(true, 'Whether to install the CustomResourceDefinitions that the cluster lacks.'),
    keep: flag(true, 'Whether `helm uninstall` keeps them, and with them all objects of these kinds.'),
  },
  podDisruptionBudgets: { enabled: flag(true, 'Whether to evict one replica at a time.') },
  serviceMonitors: {
    enabled: flag(false, 'Whether to create ServiceMonitors, for the Prometheus operator.'),
    labels: labels('Labels by which Prometheus selects them.'),
  },
  dns: {
    ...common(true, [], small),
    replicas,
    clusterIP: text('', 'Cluster IP of its Service, such as that of kube-dns; default: any.'),
  },
  multicluster: { ...common(true, [], large), replicas },
  reaper: { ...common(true, [], small), replicas },
  controllers: {
    ...common(
      false,
      ['--controllers=endpointslice-controller,endpoints-controller,endpointslice-mirroring-controller'],
      large,
    ),
    replicas,
    garbageCollector: flag(
      false,
      'Whether it may delete any object whose owners are gone, as kube-controller-manager does; needs other args.',
    ),
  },
  proxy: {
    ...common(false, [], small),
    apiServerHost: text('$(KUBERNETES_SERVICE_HOST)', 'API server that is reachable without a proxy.'),
    apiServerPort: text('$(KUBERNETES_SERVICE_PORT)', 'Its port.'),
  },
  loadbalancer: { ...common(false, [], small), replicas },
  gateway: {
    ...common(false, [], small),
    replicas,
    tlsSecret: text(
      'fairlead-gateway',
      'Secret with its certificate: tls.crt, tls.key and ca.crt, from `fairlead gateway certificates`.',
    ),
    serviceType: {
      description: 'Type of its Service: LoadBalancer, for clusters that cannot route to its Pods.',
      default: 'ClusterIP',
      schema: { type: 'string', enum: ['ClusterIP', 'NodePort', 'LoadBalancer'] },
    },
    serviceAnnotations: labels('Annotations of its Service, such as those of a cloud.'),
  },
};

/** Values by section, for objects: complete, and checked. */
export type Values = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export const defaultValues: Values = Object.fromEntries(
  Object.entries(sections).map(([name, section]) => [
    name,
    Object.fromEntries(Object.entries(section).map(([key, value]) => [key, value.default])),
  ]),
);

const isMapping = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The values of a file over the defaults. Throws a UsageError that names a value that does not exist or has another type. */
export function mergeValues(given: unknown, source: string): Values {
  if (given === undefined || given === null) return defaultValues;
  if (!isMapping(given)) throw new UsageError(`${source}: expected a mapping of values`);
  const merged: Record<string, Readonly<Record<string, unknown>>> = { ...defaultValues };
  for (const [name, section] of Object.entries(given)) {
    const known = Object.hasOwn(sections, name) ? sections[name] : undefined;
    if (known === undefined)
      throw new UsageError(`${source}: there is no value "${name}": known are ${Object.keys(sections).join(', ')}`);
    if (!isMapping(section)) throw new UsageError(`${source}: "${name}" is not a mapping`);
    for (const [key, value] of Object.entries(section)) {
      const setting = Object.hasOwn(known, key) ? known[key] : undefined;
      if (setting === undefined)
        throw new UsageError(
          `${source}: there is no value "${name}.${key}": known are ${Object.keys(known).join(', ')}`,
        );
      const problem = mismatch(setting.schema, value);
      if (problem !== undefined) throw new UsageError(`${source}: "${name}.${key}": expected ${problem}`);
    }
    merged[name] = { ...defaultValues[name], ...section };
  }
  return merged;
}

/** What a schema of this file expects instead; undefined: the value fits. */
function mismatch(schema: ValueSchema, value: unknown): string | undefined {
  const {
    type,
    minimum = -Infinity,
    items,
    additionalProperties,
  } = schema as {
    readonly type: string;
    readonly minimum?: number;
    readonly enum?: readonly unknown[];
    readonly items?: ValueSchema;
    readonly additionalProperties?: ValueSchema;
  };
  const words = schema['enum'] as readonly unknown[] | undefined;
  if (words !== undefined && !words.includes(value)) return `one of ${words.join(', ')}`;
  if (type === 'array') {
    if (!Array.isArray(value)) return 'a list';
    return value.map((item) => mismatch(items ?? {}, item)).find((problem) => problem !== undefined);
  }
  if (type === 'object') {
    if (!isMapping(value)) return 'a mapping';
    if (additionalProperties === undefined) return undefined;
    return Object.values(value)
      .map((item) => mismatch(additionalProperties, item))
      .find((problem) => problem !== undefined);
  }
  if (type === 'integer')
    return Number.isInteger(value) && Number(value) >= minimum ? undefined : `a number of ${minimum} or more`;
  return typeof value === type ? undefined : type === 'boolean' ? 'true or false' : 'a text';
}
