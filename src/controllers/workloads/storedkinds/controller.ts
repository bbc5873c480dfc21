import type { Kind } from '../../../api/kind.ts';
import { noControllerWarning } from '../../../api/kind.ts';
import { horizontalPodAutoscalerKind } from '../../../api/kinds/autoscaling/horizontalpodautoscaler/kind.ts';
import { certificateSigningRequestKind } from '../../../api/kinds/certificates/certificatesigningrequest/kind.ts';
import { persistentVolumeKind } from '../../../api/kinds/core/persistentvolume/kind.ts';
import { persistentVolumeClaimKind } from '../../../api/kinds/core/persistentvolumeclaim/kind.ts';
import { networkPolicyKind } from '../../../api/kinds/networking/networkpolicy/kind.ts';
import type { ApiObject } from '../../../api/metadata.ts';
import { systemClock } from '../../../client/clock.ts';
import { runController } from '../../../client/controller.ts';
import { WorkQueue } from '../../../client/queue.ts';
import type { ControllerContext } from '../../context.ts';

/** The kinds that nothing acts on: those with `withoutController`. */
export const storedKinds: readonly Kind[] = [
  horizontalPodAutoscalerKind,
  certificateSigningRequestKind,
  persistentVolumeKind,
  persistentVolumeClaimKind,
  networkPolicyKind,
];

/** The server keeps Events this long: an older object had one, or is known to its users. */
const maxAgeMs = 3_600_000;

/** Records an Event about each new object of a kind that nothing acts on, until the signal fires. */
export function runStoredKinds(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { caches, options } = context;
  const clock = options.clock ?? systemClock;
  const recorder = context.recorder('stored-kinds-controller');
  const subscribe = (): readonly (() => void)[] =>
    storedKinds.map((kind) => {
      const message = noControllerWarning(kind) ?? '';
      const added = (object: ApiObject): void => {
        const createdAt = Date.parse(String(object.metadata.creationTimestamp));
        if (clock.now() - createdAt > maxAgeMs) return;
        recorder.record(kind, object, { type: 'Warning', reason: 'NoController', message });
      };
      return caches.of(kind).subscribe({ added });
    });
  // Events need no queue: the recorder writes them in the background.
  const queue = new WorkQueue({ work: async () => undefined });
  return runController({ queue, caches: storedKinds.map((kind) => caches.of(kind)), subscribe }, signal);
}
