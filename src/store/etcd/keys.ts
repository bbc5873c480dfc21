// Where objects are in etcd: at the paths of kube-apiserver, which differ from ours for built-in kinds.

const root = '/registry/';

/** Our path → that of kube-apiserver. Others are the same. */
const paths: readonly (readonly [ours: string, theirs: string])[] = [
  ['services', 'services/specs'],
  ['endpoints', 'services/endpoints'],
  ['nodes', 'minions'],
  ['replicationcontrollers', 'controllers'],
  ['discovery.k8s.io/endpointslices', 'endpointslices'],
  ['coordination.k8s.io/leases', 'leases'],
  ['networking.k8s.io/ingresses', 'ingress'],
  ['networking.k8s.io/ingressclasses', 'ingressclasses'],
  ['networking.k8s.io/networkpolicies', 'networkpolicies'],
  ['networking.k8s.io/ipaddresses', 'ipaddresses'],
  ['networking.k8s.io/servicecidrs', 'servicecidrs'],
  ['rbac.authorization.k8s.io/roles', 'roles'],
  ['rbac.authorization.k8s.io/rolebindings', 'rolebindings'],
  ['rbac.authorization.k8s.io/clusterroles', 'clusterroles'],
  ['rbac.authorization.k8s.io/clusterrolebindings', 'clusterrolebindings'],
  ['apps/deployments', 'deployments'],
  ['apps/replicasets', 'replicasets'],
  ['apps/statefulsets', 'statefulsets'],
  ['apps/daemonsets', 'daemonsets'],
  ['apps/controllerrevisions', 'controllerrevisions'],
  ['batch/jobs', 'jobs'],
  ['batch/cronjobs', 'cronjobs'],
  ['policy/poddisruptionbudgets', 'poddisruptionbudgets'],
  ['scheduling.k8s.io/priorityclasses', 'priorityclasses'],
  ['autoscaling/horizontalpodautoscalers', 'horizontalpodautoscalers'],
  ['storage.k8s.io/storageclasses', 'storageclasses'],
  ['node.k8s.io/runtimeclasses', 'runtimeclasses'],
  ['certificates.k8s.io/certificatesigningrequests', 'certificatesigningrequests'],
  ['admissionregistration.k8s.io/validatingwebhookconfigurations', 'validatingwebhookconfigurations'],
  ['admissionregistration.k8s.io/mutatingwebhookconfigurations', 'mutatingwebhookconfigurations'],
  ['admissionregistration.k8s.io/mutatingadmissionpolicies', 'mutatingadmissionpolicies'],
  ['admissionregistration.k8s.io/mutatingadmissionpolicybindings', 'mutatingadmissionpolicybindings'],
  ['admissionregistration.k8s.io/validatingadmissionpolicies', 'validatingadmissionpolicies'],
  ['admissionregistration.k8s.io/validatingadmissionpolicybindings', 'validatingadmissionpolicybindings'],
];

const toTheirs = new Map(paths.map(([ours, theirs]) => [`${ours}/`, `${theirs}/`]));
const toOurs = new Map(paths.map(([ours, theirs]) => [`${theirs}/`, `${ours}/`]));

/** Translates keys of the store to keys in etcd and back. */
export class Keys {
  /** All keys of the cluster begin with this. */
  readonly prefix: string;
  /** The end of the range of all keys of the cluster. */
  readonly end: string;

  /** `prefix` is the value of `--etcd-prefix`; default: that of kube-apiserver. */
  constructor(prefix = '/registry') {
    const trimmed = prefix.replace(/^\/|\/$/g, '');
    this.prefix = trimmed === '' ? '/' : `/${trimmed}/`;
    this.end = `${this.prefix.slice(0, -1)}0`;
  }

  /** The prefix as `--etcd-prefix` names it. */
  get path(): string {
    return this.prefix === '/' ? this.prefix : this.prefix.slice(0, -1);
  }

  /** The key in etcd of a key of the store, which begins with `/registry/`. */
  toEtcd(key: string): string {
    if (!key.startsWith(root)) throw new Error(`bug: the key "${key}" does not begin with ${root}`);
    return this.prefix + translated(toTheirs, key.slice(root.length));
  }

  fromEtcd(key: string): string {
    return root + translated(toOurs, key.slice(this.prefix.length));
  }

  /** The key of the store's own data: not an object, and ignored by kube-apiserver. */
  own(...names: string[]): string {
    return `${this.prefix}fairlead/${names.join('/')}`;
  }
}

/** A kind is the first segment of a path, or the first two. */
function translated(map: ReadonlyMap<string, string>, path: string): string {
  const first = path.indexOf('/') + 1;
  const second = path.indexOf('/', first) + 1;
  for (const end of [second, first]) {
    const found = end === 0 ? undefined : map.get(path.slice(0, end));
    if (found !== undefined) return found + path.slice(end);
  }
  return path;
}
