// The Pod that stands for a registered process. Nodes may create mirror Pods, and report their status. No clock, no I/O.
import type { Node } from '../../api/kinds/core/node/schema.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { timestamp } from '../../api/timestamp.ts';
import type { RegisteredProcess } from './registration-file.ts';

/** The annotation of Pods that a node runs on its own; its value is the hash of the registration. */
export const mirrorAnnotation = 'kubernetes.io/config.mirror';

/** A Pod that the Service selects; undefined: the Service has no selector. */
export function mirrorPod(
  name: string,
  { namespace, port }: RegisteredProcess,
  { service, node, hash }: { readonly service: Service; readonly node: Node; readonly hash: string },
): Pod | undefined {
  const selector = service.spec.selector ?? {};
  if (Object.keys(selector).length === 0) return undefined;
  const { name: nodeName = '', uid = '' } = node.metadata;
  const ports = (service.spec.ports ?? []).flatMap((each) =>
    typeof each.targetPort === 'string' ? [{ name: each.targetPort, containerPort: port }] : [],
  );
  const container = {
    name: 'registered',
    image: 'registered',
    ports: ports.length > 0 ? ports : [{ containerPort: port }],
  };
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid, controller: true }];
  // A cast: the server adds the defaults.
  return {
    metadata: { namespace, name, labels: selector, annotations: { [mirrorAnnotation]: hash }, ownerReferences },
    spec: {
      nodeName,
      containers: [container],
      enableServiceLinks: false,
      automountServiceAccountToken: false,
      tolerations: [{ operator: 'Exists' }],
    },
    status: {},
  } as unknown as Pod;
}

/** Why the Service would not reach the process. */
export function portProblem({ port }: RegisteredProcess, { metadata, spec }: Service): string | undefined {
  const ports = spec.ports?.map((each) => each.targetPort ?? each.port) ?? [];
  if (ports.some((each) => each === port || typeof each === 'string')) return undefined;
  const { namespace, name } = metadata;
  return `the process has port ${port}, and Service "${namespace}/${name}" connects to ${ports.join(', ')}: set its targetPort to ${port}, or to a name`;
}

/** The status of that Pod; `problem`: why it is not ready. */
export function mirrorStatus(
  pod: Pod,
  { address }: RegisteredProcess,
  { problem, now }: { readonly problem: string | undefined; readonly now: number },
): Pod['status'] {
  const old = pod.status.conditions?.find(({ type }) => type === 'Ready');
  const isReady = problem === undefined;
  const status = isReady ? 'True' : 'False';
  const lastTransitionTime = old?.status === status ? old.lastTransitionTime : timestamp(now);
  const why = isReady ? {} : { reason: 'ContainersNotReady', message: problem };
  const startedAt = pod.status.startTime ?? timestamp(now);
  // A cast: the schema calls the time a string, and the API accepts null for none.
  const lastProbeTime = null as unknown as string;
  return {
    phase: 'Running',
    startTime: startedAt,
    podIP: address,
    podIPs: [{ ip: address }],
    conditions: ['Ready', 'ContainersReady'].map((type) => ({
      type,
      status,
      lastProbeTime,
      lastTransitionTime,
      ...why,
    })),
    containerStatuses: [
      {
        name: 'registered',
        image: 'registered',
        imageID: '',
        ready: isReady,
        started: true,
        restartCount: 0,
        state: { running: { startedAt } },
        lastState: {},
      },
    ],
  };
}
