import { defaultSourceLeaseMs, probeTimesOf } from '../../multicluster/member/options.ts';
import type { ReaperOptions } from '../../multicluster/reaper/reaper.ts';
import { UsageError } from '../errors.ts';
import { oneOf, readFlag } from '../options/flags.ts';
import { parseGoDuration } from '../part/duration.ts';
import type { LoadPart, Part } from '../part/part.ts';
import type { Flag, Settings } from '../settings.ts';

const flags: readonly Flag[] = [
  {
    name: 'lease-duration',
    value: 'DURATION',
    description: 'how long a source cluster may be silent whose lease does not say',
    default: `${defaultSourceLeaseMs / 1000}s`,
  },
  {
    name: 'on-controller-loss',
    value: 'Remove|Freeze',
    description: 'what becomes of endpoints of other clusters when no lease is renewed any more',
    default: 'Remove',
  },
  { name: 'freeze-for', value: 'DURATION', description: 'how long Freeze keeps them; 0s: for good', default: '0s' },
  {
    name: 'cluster-id',
    value: 'ID',
    description: 'which cluster of the set this is',
    default: 'its ClusterProperty cluster.clusterset.k8s.io',
  },
];

/** `fairlead reaper`: removes what came from clusters that are lost. */
export const part: Part = {
  name: 'reaper',
  description: 'Remove imported endpoints of clusters that are no longer heard of. One runs in every cluster of a set.',
  example: `  fairlead reaper --kubeconfig reaper.kubeconfig
  fairlead reaper --context east --on-controller-loss Freeze --freeze-for 10m`,
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
  const durationMs = readFlag(settings, 'lease-duration', parseDuration, defaultSourceLeaseMs);
  const freezeMs = readFlag(settings, 'freeze-for', parseGoDuration, 0);
  return {
    own: settings.get('cluster-id')?.at(-1),
    probeTimes: probeTimesOf(durationMs),
    onControllerLoss: readFlag(settings, 'on-controller-loss', oneOf(['Remove', 'Freeze']), 'Remove'),
    ...(freezeMs > 0 ? { freezeMs } : {}),
  };
}

function parseDuration(text: string): number {
  const ms = parseGoDuration(text);
  if (ms < 1000) throw new UsageError('expected at least 1s');
  return ms;
}
