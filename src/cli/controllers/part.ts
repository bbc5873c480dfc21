import type { ControllersOptions } from '../../controllers/options.ts';
import { defaultConcurrentSyncs, selectionErrors } from '../../controllers/options.ts';
import { UsageError } from '../errors.ts';
import { featureGatesFlag, readFeatureGates } from '../options/feature-gates.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { booleanFlag, readFlag } from '../options/flags.ts';
import { countBetween, parseBoolean, parseDuration } from '../options/values.ts';
import { leaderFlags, readElection } from '../part/leader-flags.ts';
import type { LoadPart, Part } from '../part/part.ts';

const lease = 'fairlead-controllers';
const most = 1000;

/** Numbers, named as in kube-controller-manager: flag, option, description, default. */
const numbers = [
  [
    'concurrent-endpoint-syncs',
    'concurrentEndpointSyncs',
    'Services whose Endpoints are reconciled at once',
    defaultConcurrentSyncs,
  ],
  [
    'concurrent-service-endpoint-syncs',
    'concurrentServiceEndpointSyncs',
    'Services whose EndpointSlices are reconciled at once',
    defaultConcurrentSyncs,
  ],
  [
    'mirroring-concurrent-service-endpoint-syncs',
    'mirroringConcurrentServiceEndpointSyncs',
    'Endpoints that are mirrored at once',
    5,
  ],
  ['concurrent-gc-syncs', 'concurrentGcSyncs', 'objects that are garbage collected at once', 20],
  ['max-endpoints-per-slice', 'maxEndpointsPerSlice', 'maximum endpoints in a slice, 1 to 1000', 100],
  [
    'mirroring-max-endpoints-per-subset',
    'mirroringMaxEndpointsPerSubset',
    'maximum addresses of a subset to mirror, 1 to 1000',
    1000,
  ],
] as const satisfies readonly (readonly [string, keyof ControllersOptions, string, number])[];

/** Durations, likewise. */
const durations = [
  ['endpoint-updates-batch-period', 'endpointUpdatesBatchPeriodMs', 'collect changes of Pods for this long'],
  [
    'mirroring-endpointslice-updates-batch-period',
    'mirroringEndpointUpdatesBatchPeriodMs',
    'collect changes of Endpoints for this long before they are mirrored',
  ],
] as const satisfies readonly (readonly [string, keyof ControllersOptions, string])[];

const gracePeriod = 'node-monitor-grace-period';

const flags: readonly Flag[] = [
  {
    name: 'controllers',
    value: 'LIST',
    description:
      'controllers to run: * for all but those of workloads, workloads for these and the scheduler, NAME for one, -NAME for all but one',
    default: '*',
  },
  ...numbers.map(([name, , description, number]) => ({ name, value: 'N', description, default: String(number) })),
  ...durations.map(([name, , description]) => ({ name, value: 'DURATION', description, default: '0s' })),
  {
    name: gracePeriod,
    value: 'DURATION',
    description: 'how long a node may not renew its Lease before it is not ready; nodes without a Lease are left alone',
    default: '50s',
  },
  {
    name: 'manage-all-nodes',
    ...booleanFlag,
    description:
      'treat nodes that never had a Lease like others, as Kubernetes does: they are not ready after the grace period',
  },
  featureGatesFlag,
  ...leaderFlags(lease),
];

/** `fairlead controllers`: EndpointSlices, Endpoints, mirroring and garbage collection. */
export const part: Part = {
  name: 'controllers',
  description:
    'Run the controllers that maintain EndpointSlices and Endpoints, mirror custom Endpoints, mark nodes that are lost, evict their Pods, and delete objects whose owners no longer exist.',
  examples: [
    'fairlead controllers --kubeconfig controllers.kubeconfig',
    "fairlead controllers --context prod --controllers '*,-garbage-collector-controller'",
  ],
  health: 10_357,
  flags,
  alone: (settings) => load(readOptions(settings)),
  // `up` holds the lock of its data directory: there is no other replica.
  inUp: ({ gates }) => load({ gates, controllers: ['*', 'workloads'] }),
};

const load =
  (options: ControllersOptions): LoadPart =>
  async () => {
    const { startControllers } = await import('../../controllers/controllers.ts');
    return (context) => startControllers(context, options);
  };

function readOptions(settings: Settings): ControllersOptions {
  const election = readElection(settings, lease);
  const given = [
    ...numbers.map(([name, option, , fallback]) => [option, readFlag(settings, name, countBetween(1, most), fallback)]),
    ...durations.map(([name, option]) => [option, readFlag(settings, name, parseDuration, 0)]),
  ];
  return {
    ...Object.fromEntries(given),
    controllers: readFlag(settings, 'controllers', parseSelection, ['*']),
    nodeMonitorGracePeriodMs: readFlag(settings, gracePeriod, parseDuration, 50_000),
    managesAllNodes: readFlag(settings, 'manage-all-nodes', parseBoolean, false),
    gates: readFeatureGates(settings).gates,
    ...(election === undefined ? {} : { leaderElection: election }),
  };
}

function parseSelection(text: string): readonly string[] {
  const words = text.split(',').map((word) => word.trim());
  const [error] = selectionErrors(words);
  if (error !== undefined) throw new UsageError(error);
  return words;
}
