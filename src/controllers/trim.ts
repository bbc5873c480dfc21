// What is kept of the objects that controllers read: a Pod alone has ten times as much that none of them looks at.
import type { Node } from '../api/kinds/core/node/schema.ts';
import type { Container, Pod } from '../api/kinds/core/pod/schema.ts';
import type { ApiObject, ObjectMeta } from '../api/metadata.ts';

/** What says which object it is, who owns it and whether it is about to go; the garbage collector needs no more. */
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

/** The metadata of any object. */
export const trimToMetadata = ({ metadata }: ApiObject): ApiObject => ({ metadata: trimMetadata(metadata) });

/** The parts of a Pod that endpoints are made of. */
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
      // Nearly always there is one address, which both fields have.
      ...(podIPs === undefined || (podIPs.length === 1 && podIPs[0]?.ip === podIP) ? {} : { podIPs }),
      ...(ready === undefined ? {} : { conditions: [readiness(ready.status, ready.lastTransitionTime)] }),
    },
  };
  // A cast since the rest of what a Pod must have is never read here.
  return trimmed as unknown as Pod;
}

const none: readonly Container[] = [];

const readiness = (status: string, lastTransitionTime: unknown): object => ({
  type: 'Ready',
  status,
  lastTransitionTime,
});

/** Only named ports are looked for in containers. */
function withNamedPorts(containers: readonly Container[] | null | undefined): readonly unknown[] {
  const named = (containers ?? none).filter(({ ports }) => ports?.some(({ name }) => name));
  if (named.length === 0) return none;
  return named.map(({ ports = [], restartPolicy }) => ({
    ports: ports.map(({ name, containerPort, protocol }) => ({ name, containerPort, protocol })),
    ...(restartPolicy === undefined ? {} : { restartPolicy }),
  }));
}

/** The parts of a node that say where endpoints are, and how much of the work is theirs. */
export function trimNode({ metadata, status }: Node): Node {
  const { allocatable, conditions } = status;
  const ready = conditions?.find(({ type }) => type === 'Ready');
  const trimmed = {
    metadata: { ...trimMetadata(metadata), labels: metadata.labels ?? {} },
    spec: {},
    status: {
      ...(allocatable === undefined ? {} : { allocatable: { cpu: allocatable['cpu'] } }),
      ...(ready === undefined ? {} : { conditions: [{ type: 'Ready', status: ready.status }] }),
    },
  };
  // A cast since the rest of what a node must have is never read here.
  return trimmed as unknown as Node;
}
