// The status of a Pod, as the kubelet reports it.
import type { Container, ContainerStatus, Pod } from '../../api/kinds/core/pod/schema.ts';
import { timestamp } from '../../api/timestamp.ts';
import { goDuration, restartAt } from './backoff.ts';
import type { ContainerRecord, Instance, PodRecord } from './record.ts';
import { isRunning, recordOf } from './record.ts';
import { hasInitialized, isSidecar, mayRestart } from './plan.ts';

type PodStatus = Pod['status'];
type Condition = NonNullable<PodStatus['conditions']>[number];
type State = ContainerStatus['state'];
type Named = Pick<Container, 'name' | 'image' | 'restartPolicy' | 'restartPolicyRules'>;

export interface StatusInput {
  readonly pod: Pod;
  readonly record: PodRecord;
  readonly isSetUp: boolean;
  /** Why the Pod cannot be set up. */
  readonly setUpProblem?: { readonly reason: string; readonly message: string } | undefined;
  /** Whether all processes have ended, and none will be started. */
  readonly isOver: boolean;
  readonly hostIps: readonly string[];
  readonly podIps: readonly string[];
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** The fields of the status that the agent owns. */
export function podStatus(input: StatusInput): PodStatus {
  const { pod, record, hostIps, podIps } = input;
  const { initContainers = [], containers, ephemeralContainers = [] } = pod.spec;
  const isReady = hasInitialized(pod, record);
  const statusOf = (each: Named, kind: ContainerKind): ContainerStatus => containerStatus(each, kind, input, isReady);
  const init = initContainers.map((each) => statusOf(each, 'init'));
  const regular = (containers ?? []).map((each) => statusOf(each, 'regular'));
  const ephemeral = ephemeralContainers.map((each) => statusOf(each, 'ephemeral'));
  const phase = phaseOf(input);
  const [hostIP] = hostIps;
  const [podIP] = podIps;
  return {
    phase,
    ...record.failure,
    conditions: conditionsOf(input, { phase, statuses: [...init, ...regular] }),
    ...(hostIP === undefined ? {} : { hostIP, hostIPs: hostIps.map((ip) => ({ ip })) }),
    ...(podIP === undefined ? {} : { podIP, podIPs: podIps.map((ip) => ({ ip })) }),
    startTime: timestamp(record.startedAt),
    ...(init.length === 0 ? {} : { initContainerStatuses: init }),
    containerStatuses: regular,
    ...(ephemeral.length === 0 ? {} : { ephemeralContainerStatuses: ephemeral }),
    ...(pod.metadata.generation === undefined ? {} : { observedGeneration: pod.metadata.generation }),
  };
}

type ContainerKind = 'init' | 'regular' | 'ephemeral';

/** The phase; the first rule that matches counts. */
function phaseOf({ pod, record, isOver }: StatusInput): NonNullable<PodStatus['phase']> {
  const { phase } = pod.status;
  if (phase === 'Succeeded' || phase === 'Failed') return phase;
  if (record.failure !== undefined) return isOver ? 'Failed' : (phase ?? 'Pending');
  const { initContainers = [], containers } = pod.spec;
  const all = (containers ?? []).map((container) => ({ container, own: recordOf(record, container.name) }));
  if (isOver) {
    const codes = all.map(({ own }) => own.current?.ended?.exitCode);
    return codes.every((code) => code === 0) ? 'Succeeded' : 'Failed';
  }
  const failedInit = initContainers.some((container) => {
    const { current } = recordOf(record, container.name);
    const code = current?.ended?.exitCode ?? 0;
    return !isSidecar(container) && code !== 0 && !mayRestart(container, pod, code);
  });
  if (failedInit) return phase ?? 'Pending'; // until its sidecars have ended
  if (!hasInitialized(pod, record)) return 'Pending';
  return all.some(({ own }) => own.current === undefined) ? 'Pending' : 'Running';
}

function containerStatus(
  container: Named,
  kind: ContainerKind,
  input: StatusInput,
  isInitialized: boolean,
): ContainerStatus {
  const own = recordOf(input.record, container.name);
  const { current, previous, restartCount } = own;
  const state = stateOf(container, kind, input, isInitialized);
  const isUp = isRunning(own) && current?.isStarting !== true;
  const isCompletedInit =
    kind === 'init' &&
    container.restartPolicy !== 'Always' &&
    current?.ended !== undefined &&
    state.terminated?.exitCode === 0;
  // While a restart is delayed, the last run is in lastState.
  const last = state.waiting !== undefined && current?.ended !== undefined ? current : previous;
  return {
    name: container.name,
    state,
    lastState: last?.ended === undefined ? {} : { terminated: terminated(last) },
    ready: isUp ? current?.isReady === true && current.isStarted : isCompletedInit,
    restartCount,
    image: container.image ?? '',
    imageID: current?.imageId ?? '',
    ...(current === undefined ? {} : { containerID: containerId(current) }),
    started: isUp && current?.isStarted === true,
  };
}

const containerId = ({ id }: Instance): string => `process://${id}`;

function stateOf(container: Named, kind: ContainerKind, input: StatusInput, isInitialized: boolean): State {
  const { pod, record, isOver, now } = input;
  const own = recordOf(record, container.name);
  const { current, problem } = own;
  if (current !== undefined && current.ended === undefined) {
    return current.isStarting === true
      ? { waiting: { reason: 'ContainerCreating' } }
      : { running: { startedAt: timestamp(current.startedAt) } };
  }
  const isEnding = isOver || pod.metadata.deletionTimestamp !== undefined || record.failure !== undefined;
  if (problem !== undefined && !isEnding) {
    return { waiting: { reason: problem.reason, message: problem.message } };
  }
  if (current?.ended !== undefined) {
    const isDelayed =
      !isEnding &&
      kind !== 'ephemeral' &&
      mayRestart(container, pod, current.ended.exitCode) &&
      restartAt(own) > now &&
      own.backoff !== undefined;
    return isDelayed ? { waiting: crashLoop(container, own, pod) } : { terminated: terminated(current) };
  }
  if (isOver && record.failure === undefined) return { waiting: { reason: 'ContainerCreating' } };
  const isWaitingForInit = kind === 'regular' && !isInitialized && (pod.spec.initContainers ?? []).length > 0;
  const isLaterInit = kind === 'init' && (pod.spec.initContainers ?? []).length > 0;
  return { waiting: { reason: isWaitingForInit || isLaterInit ? 'PodInitializing' : 'ContainerCreating' } };
}

function crashLoop({ name }: Named, { backoff }: ContainerRecord, { metadata }: Pod): NonNullable<State['waiting']> {
  const pod = `${metadata.name}_${metadata.namespace}(${metadata.uid})`;
  return {
    reason: 'CrashLoopBackOff',
    message: `back-off ${goDuration(backoff?.ms ?? 0)} restarting failed container=${name} pod=${pod}`,
  };
}

function terminated(instance: Instance): NonNullable<State['terminated']> {
  const { startedAt, ended } = instance;
  const { exitCode = 0, reason = '', message, signal, finishedAt = startedAt } = ended ?? {};
  return {
    exitCode,
    ...(signal === undefined ? {} : { signal }),
    reason,
    ...(message === undefined || message === '' ? {} : { message }),
    startedAt: timestamp(startedAt),
    finishedAt: timestamp(finishedAt),
    containerID: containerId(instance),
  };
}

interface Computed {
  readonly phase: NonNullable<PodStatus['phase']>;
  /** Init containers, then regular ones. */
  readonly statuses: readonly ContainerStatus[];
}

/** The condition types that the agent owns; others stay. */
function conditionsOf(input: StatusInput, computed: Computed): readonly Condition[] {
  const { pod, isSetUp, isOver } = input;
  const { phase } = computed;
  const ended = phase === 'Succeeded' || phase === 'Failed';
  const endReason = phase === 'Succeeded' ? 'PodCompleted' : 'PodFailed';
  const initialized = initializedCondition(input, computed);
  const containersReady = ended
    ? failing('ContainersReady', endReason)
    : unreadyNames(input, computed).length === 0
      ? passing('ContainersReady')
      : failing(
          'ContainersReady',
          'ContainersNotReady',
          `containers with unready status: ${goList(unreadyNames(input, computed))}`,
        );
  const all: readonly Draft[] = [
    isSetUp && !isOver ? passing('PodReadyToStartContainers') : failing('PodReadyToStartContainers'),
    initialized,
    readyCondition(pod, containersReady),
    containersReady,
    passing('PodScheduled'),
  ];
  return all.map((draft) => dated(draft, input));
}

type Draft = Pick<Condition, 'type' | 'status'> & { readonly reason?: string; readonly message?: string };

const passing = (type: string, reason?: string): Draft => ({
  type,
  status: 'True',
  ...(reason === undefined ? {} : { reason }),
});

const failing = (type: string, reason?: string, message?: string): Draft => ({
  type,
  status: 'False',
  ...(reason === undefined ? {} : { reason }),
  ...(message === undefined ? {} : { message }),
});

/** A list as Go prints it. */
const goList = (names: readonly string[]): string => `[${names.join(' ')}]`;

function initializedCondition({ pod, record }: StatusInput, { phase }: Computed): Draft {
  if (phase === 'Succeeded') return passing('Initialized', 'PodCompleted');
  if (hasInitialized(pod, record)) return passing('Initialized');
  const open = (pod.spec.initContainers ?? []).filter((container) => {
    const { current } = recordOf(record, container.name);
    return isSidecar(container) ? current?.isStarted !== true : current?.ended?.exitCode !== 0;
  });
  const names = goList(open.map(({ name }) => name));
  return failing('Initialized', 'ContainersNotInitialized', `containers with incomplete status: ${names}`);
}

/** Sidecars and regular containers that are not ready. */
function unreadyNames({ pod }: StatusInput, { statuses }: Computed): readonly string[] {
  const { initContainers = [], containers } = pod.spec;
  const counted = [...initContainers.filter(isSidecar), ...(containers ?? [])];
  return counted
    .filter(({ name }) => statuses.find((status) => status.name === name)?.ready !== true)
    .map(({ name }) => name);
}

function readyCondition({ spec, status }: Pod, containersReady: Draft): Draft {
  if (containersReady.status !== 'True') return { ...containersReady, type: 'Ready' };
  const problems = (spec.readinessGates ?? []).flatMap(({ conditionType }) => {
    const gate = status.conditions?.find(({ type }) => type === conditionType);
    if (gate === undefined) return [`corresponding condition of pod readiness gate "${conditionType}" does not exist.`];
    return gate.status === 'True'
      ? []
      : [`the status of pod readiness gate "${conditionType}" is not "True", but ${gate.status}`];
  });
  return problems.length === 0 ? passing('Ready') : failing('Ready', 'ReadinessGatesNotReady', problems.join(', '));
}

/** Keeps the time of the last transition while the status stays. */
function dated(draft: Draft, { pod, now }: StatusInput): Condition {
  const old = pod.status.conditions?.find(({ type }) => type === draft.type);
  const { generation } = pod.metadata;
  // A cast: the schema calls the time a string, and the API accepts null for none.
  return {
    ...draft,
    lastProbeTime: null as unknown as string,
    lastTransitionTime:
      old?.status === draft.status && old.lastTransitionTime !== undefined ? old.lastTransitionTime : timestamp(now),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
}
