import { isReadyNode } from './readiness.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import type { Pod, PodSpec } from '../../api/kinds/core/pod/schema.ts';
import { getOrCompute } from '../../api/maps.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { Amounts } from './resources.ts';
import { allocatableOf, comparedAmount, requestsOf } from './resources.ts';

/** A port of the host that a Pod uses. */
export interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

/** A Pod on a node. */
export interface PlacedPod {
  readonly pod: Pod;
  readonly requests: Amounts;
  readonly ports: readonly HostPort[];
}

/** A node and the Pods on it. */
export interface NodeState {
  readonly name: string;
  /** undefined: Pods name a node that does not exist. */
  node: Node | undefined;
  allocatable: Amounts;
  /** Whether Pods that do not tolerate the taint not-ready can be placed. */
  isReady: boolean;
  readonly used: Map<string, number>;
  /** The amounts for comparing nodes. */
  readonly compared: Map<string, number>;
  /** UID → Pod. */
  readonly pods: Map<string, PlacedPod>;
}

/** Nodes and the Pods on them, kept current by events. Pods that have finished occupy nothing. */
export class ClusterState {
  readonly #nodes = new Map<string, NodeState>();
  /** UID → node name. */
  readonly #placed = new Map<string, string>();
  /** UID of a controller → UIDs of its Pods. */
  readonly #byController = new Map<string, Set<string>>();
  /** UIDs of Pods with required anti-affinity, or preferred (anti-)affinity: they matter to all others. */
  readonly #withAffinity = new Set<string>();
  /** Namespace → its labels. */
  readonly namespaces = new Map<string, Readonly<Record<string, string>>>();

  /** The nodes that exist. */
  nodes(): readonly NodeState[] {
    return [...this.#nodes.values()].filter(({ node }) => node !== undefined);
  }

  setNode(node: Node): void {
    const state = this.#node(node.metadata.name ?? '');
    state.node = node;
    state.allocatable = allocatableOf(node.status.allocatable ?? node.status.capacity);
    state.isReady = isReadyNode(node);
  }

  removeNode(name: string): void {
    const state = this.#nodes.get(name);
    if (state === undefined) return;
    state.node = undefined;
    if (state.pods.size === 0) this.#nodes.delete(name);
  }

  /** Adds or updates a Pod. One without a node, or that has finished, is removed. */
  setPod(pod: Pod): void {
    const { uid = '' } = pod.metadata;
    const { nodeName = '' } = pod.spec;
    const { phase } = pod.status;
    if (nodeName === '' || phase === 'Succeeded' || phase === 'Failed') return this.removePod(uid);
    const before = this.#placed.get(uid);
    const old = before === undefined ? undefined : this.#nodes.get(before)?.pods.get(uid);
    if (before === nodeName && old !== undefined) {
      // Requests and ports cannot change.
      this.#nodes.get(nodeName)?.pods.set(uid, { ...old, pod });
      return;
    }
    if (before !== undefined) this.removePod(uid);
    const placed: PlacedPod = { pod, requests: requestsOf(pod.spec), ports: hostPortsOf(pod.spec) };
    const state = this.#node(nodeName);
    state.pods.set(uid, placed);
    this.#placed.set(uid, nodeName);
    count(state, placed, 1);
    const controller = controllerUid(pod);
    if (controller !== undefined) getOrCompute(this.#byController, controller, () => new Set<string>()).add(uid);
    if (hasAffinityForOthers(pod.spec)) this.#withAffinity.add(uid);
  }

  removePod(uid: string): void {
    const name = this.#placed.get(uid);
    const state = name === undefined ? undefined : this.#nodes.get(name);
    const placed = state?.pods.get(uid);
    if (state === undefined || placed === undefined) return;
    this.#placed.delete(uid);
    state.pods.delete(uid);
    count(state, placed, -1);
    const controller = controllerUid(placed.pod) ?? '';
    this.#byController.get(controller)?.delete(uid);
    if (this.#byController.get(controller)?.size === 0) this.#byController.delete(controller);
    this.#withAffinity.delete(uid);
    if (state.node === undefined && state.pods.size === 0) this.#nodes.delete(state.name);
  }

  /** The node of each Pod of a controller. */
  nodesOfController(uid: string): readonly NodeState[] {
    return Array.from(this.#byController.get(uid) ?? []).flatMap((pod) => this.#stateOf(pod) ?? []);
  }

  /** The Pods whose affinity concerns others, with their nodes. */
  withAffinity(): readonly (readonly [Pod, NodeState])[] {
    return Array.from(this.#withAffinity).flatMap((uid) => {
      const state = this.#stateOf(uid);
      const pod = state?.pods.get(uid)?.pod;
      return state === undefined || pod === undefined ? [] : [[pod, state] as const];
    });
  }

  #stateOf(uid: string): NodeState | undefined {
    return this.#nodes.get(this.#placed.get(uid) ?? '');
  }

  #node(name: string): NodeState {
    return getOrCompute(this.#nodes, name, () => ({
      name,
      node: undefined,
      allocatable: new Map(),
      isReady: false,
      used: new Map(),
      compared: new Map(),
      pods: new Map(),
    }));
  }
}

function count({ used, compared }: NodeState, { requests }: PlacedPod, sign: 1 | -1): void {
  for (const [name, amount] of requests) used.set(name, (used.get(name) ?? 0) + sign * amount);
  for (const name of ['cpu', 'memory']) {
    compared.set(name, (compared.get(name) ?? 0) + sign * comparedAmount(requests, name));
  }
}

/** The ports of the host that a Pod uses. */
export const hostPortsOf = ({ containers, initContainers }: PodSpec): readonly HostPort[] =>
  [...(containers ?? []), ...(initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always')]
    .flatMap(({ ports = [] }) => ports)
    .filter(({ hostPort }) => (hostPort ?? 0) > 0)
    .map(({ hostIP = '', protocol = 'TCP', hostPort = 0 }) => ({ ip: hostIP, protocol, port: hostPort }));

/** The UID of the controller of a Pod. */
export const controllerUid = ({ metadata }: ApiObject): string | undefined =>
  metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;

function hasAffinityForOthers({ affinity }: PodSpec): boolean {
  const { podAffinity, podAntiAffinity } = affinity ?? {};
  return (
    (podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).length > 0 ||
    (podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).length > 0 ||
    (podAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).length > 0
  );
}
