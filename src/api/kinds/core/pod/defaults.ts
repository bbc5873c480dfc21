// What Kubernetes fills in on Pods and Pod templates, where users see it.
import { containerDefaults } from './container-defaults.ts';
import { edited } from './edited.ts';
import type { Container, Pod, PodSpec } from './schema.ts';
import { volumeDefaults } from './volume-defaults.ts';

/** Fills in a Pod: everything a template gets, and what is decided for single Pods only. */
export function podDefaults(pod: Pod): Pod {
  const spec = podSpecDefaults({ ...pod.spec, enableServiceLinks: pod.spec.enableServiceLinks ?? true });
  return {
    ...pod,
    spec: mapContainers(spec, (given) => podContainerDefaults(given, spec)),
    status: syncedIps(pod.status),
  };
}

/** Fills in the spec of a Pod or of a template. */
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
  const withContainers = edited(mapContainers(spec, containerDefaults), 'ephemeralContainers', (containers) =>
    containers.map(containerDefaults),
  );
  return edited(withContainers, 'volumes', (volumes) => volumes.map(volumeDefaults));
}

/** Seconds to stop in; a negative number means as few as possible. */
const graceOf = ({ terminationGracePeriodSeconds: seconds = 30 }: PodSpec): number => (seconds < 0 ? 1 : seconds);

function mapContainers(spec: PodSpec, edit: (container: Container) => Container): PodSpec {
  const containers = edited(spec, 'containers', (given) => given.map(edit));
  return edited(containers, 'initContainers', (given) => given.map(edit));
}

function podContainerDefaults(container: Container, { hostNetwork }: PodSpec): Container {
  const { limits, requests } = container.resources;
  const requested =
    limits === undefined
      ? container
      : { ...container, resources: { ...container.resources, requests: { ...limits, ...requests } } };
  if (!hostNetwork) return requested;
  return edited(requested, 'ports', (ports) =>
    ports.map((port) => ({ ...port, hostPort: port.hostPort ?? port.containerPort })),
  );
}

/** podIP is the first of podIPs; where they differ podIP is right, since older nodes write nothing else. */
function syncedIps(status: Pod['status']): Pod['status'] {
  const { podIP, podIPs = [] } = status;
  const first = podIPs[0]?.ip;
  if (podIP !== undefined && podIP !== first) return { ...status, podIPs: [{ ip: podIP }] };
  return podIP === undefined && first !== undefined ? { ...status, podIP: first } : status;
}
