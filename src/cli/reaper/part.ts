import { defaultSourceLeaseMs, probeTimesOf } from '../../multicluster/member/options.ts';
import type { ReaperOptions } from '../../multicluster/reaper/reaper.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { readFlag, textOf } from '../options/flags.ts';
import { durationFrom, oneOf, parseDuration } from '../options/values.ts';
import type { LoadPart, Part } from '../part/part.ts';

const lossActions = ['Remove', 'Freeze'] as const;

const flags: readonly Flag[] = [
  {
    name: 'lease-duration',
    value: 'DURATION',
    description: 'how long after its last renewal a source cluster is lost, if its lease has no duration',
    default: `${defaultSourceLeaseMs / 1000}s`,
  },
  {
    name: 'on-controller-loss',
    value: 'ACTION',
    description: 'what to do with endpoints of other clusters when no lease is renewed',
    choices: lossActions,
    default: 'Remove',
  },
  {
    name: 'freeze-for',
    value: 'DURATION',
    description: 'how long Freeze keeps these endpoints; 0s for no limit',
    default: '0s',
  },
  {
    name: 'cluster-id',
    value: 'ID',
    description: 'ID of this cluster in the set',
    default: 'its ClusterProperty cluster.clusterset.k8s.io',
  },
];

/** `fairlead reaper`: removes the endpoints of lost clusters. */
export const part: Part = {
  name: 'reaper',
  description: 'Remove imported endpoints of clusters whose leases have expired. Every cluster of a set runs one.',
  examples: [
    'fairlead reaper --kubeconfig reaper.kubeconfig',
    'fairlead reaper --context east --on-controller-loss Freeze --freeze-for 10m',
  ],
  health: 10_359,
  flags,
  alone: (settings) => load(readOptions(settings)),
  inUp: ({ name, settings = new Map() }) => load({ ...readOptions(settings), own: name }),
};

const load =
  (options: ReaperOptions): LoadPart =>
  async () => {
    const { startReaper } = await import('../../multicluster/reaper/reaper.ts');
    return (context) => startReaper(context, options);
  };

function readOptions(settings: Settings): ReaperOptions {
  const durationMs = readFlag(settings, 'lease-duration', durationFrom(1000, '1s'), defaultSourceLeaseMs);
  const freezeMs = readFlag(settings, 'freeze-for', parseDuration, 0);
  return {
    own: textOf(settings, 'cluster-id'),
    probeTimes: probeTimesOf(durationMs),
    onControllerLoss: readFlag(settings, 'on-controller-loss', oneOf(lossActions), 'Remove'),
    ...(freezeMs > 0 ? { freezeMs } : {}),
  };
}
