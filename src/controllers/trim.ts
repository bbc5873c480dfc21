// Reduces cached objects to the fields that controllers read, about a tenth of a Pod.
import type { Node } from '../api/kinds/core/node/schema.ts';
import type { Container, Pod } from '../api/kinds/core/pod/schema.ts';
import type { ApiObject, ObjectMeta } from '../api/metadata.ts';

/** The metadata that the garbage collector needs. */
function trimMetadata(metadata: ObjectMeta): ObjectMeta {
  const { name, namespace, uid, resourceVersion, deletionTimestamp, ownerReferences, finalizers } = metadata;
  return {
    ...(name === undefined ? {} : { name }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(ownerReferences === undefined ? {} : { ownerReferences }),
    ...(finalizers === undefined ? {} : { finalizers }),
  };
}

/** Reduces an object to its metadata. */
export const trimToMetadata = ({ metadata }: ApiObject): ApiObject => {
  const { creationTimestamp } = metadata;
  return { metadata: { ...trimMetadata(metadata), ...(creationTimestamp === undefined ? {} : { creationTimestamp }) } };
};

/** Reduces a Pod to the fields that endpoints depend on. */
export function trimPod({ metadata, spec, status }: Pod): Pod {
  const { nodeName, hostname, subdomain, containers, initContainers } = spec;
  const { phase, podIP, podIPs, conditions } = status;
  const ready = conditions?.find(({ type }) => type === 'Ready');
  const trimmed = {
    metadata: { ...trimMetadata(metadata), ...(metadata.labels === undefined ? {} : { labels: metadata.labels }) },
    spec: {
      ...(nodeName === undefined ? {} : { nodeName }),
      ...(hostname === undefined ? {} : { hostname }),
      ...(subdomain === undefined ? {} : { subdomain }),
      containers: withNamedPorts(containers),
      initContainers: withNamedPorts(initContainers),
    },
    status: {
      ...(phase === undefined ? {} : { phase }),
      ...(podIP === undefined ? {} : { podIP }),
      // Usually there is a single address, which is in both fields.
      ...(podIPs === undefined || (podIPs.length === 1 && podIPs[0]?.ip === podIP) ? {} : { podIPs }),
      ...(ready === undefined ? {} : { conditions: [readiness(ready.status, ready.lastTransitionTime)] }),
    },
  };
  // A cast because controllers do not read the other required fields.
  return trimmed as unknown as Pod;
}

/** Reduces a Pod to the fields that controllers of workloads and the scheduler read: how it runs does not matter. */
export function trimPodOfWorkload({ metadata, spec, status }: Pod): Pod {
  const { containers, initContainers, volumes: _volumes, ...placement } = spec;
  return {
    metadata,
    spec: {
      ...placement,
      containers: (containers ?? none).map(trimContainer),
      ...(initContainers === undefined ? {} : { initContainers: (initContainers ?? none).map(trimContainer) }),
    },
    status,
  };
}

function trimContainer({ name, image, ports, resources, restartPolicy }: Container): Container {
  const trimmed = {
    name,
    resources,
    ...(image === undefined ? {} : { image }),
    ...(ports === undefined ? {} : { ports }),
    ...(restartPolicy === undefined ? {} : { restartPolicy }),
  };
  return trimmed;
}

const none: readonly Container[] = [];

const readiness = (status: string, lastTransitionTime: unknown): object => ({
  type: 'Ready',
  status,
  lastTransitionTime,
});

/** Keeps the containers with named ports: only those are looked up. */
function withNamedPorts(containers: readonly Container[] | null | undefined): readonly unknown[] {
  const named = (containers ?? none).filter(({ ports }) => ports?.some(({ name }) => name));
  if (named.length === 0) return none;
  return named.map(({ ports = [], restartPolicy }) => ({
    ports: ports.map(({ name, containerPort, protocol }) => ({ name, containerPort, protocol })),
    ...(restartPolicy === undefined ? {} : { restartPolicy }),
  }));
}

/** Reduces a node to the fields that zones, hints and its health depend on. */
export function trimNode({ metadata, spec, status }: Node): Node {
  const { allocatable, conditions } = status;
  const { creationTimestamp, labels = {} } = metadata;
  const trimmed = {
    metadata: { ...trimMetadata(metadata), labels, ...(creationTimestamp === undefined ? {} : { creationTimestamp }) },
    spec: spec.taints === undefined ? {} : { taints: spec.taints },
    status: {
      ...(allocatable === undefined ? {} : { allocatable: { cpu: allocatable['cpu'] } }),
      ...(conditions === undefined ? {} : { conditions }),
    },
  };
  // A cast because controllers do not read the other required fields.
  return trimmed as unknown as Node;
}
