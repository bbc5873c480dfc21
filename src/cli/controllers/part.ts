import type { ControllersOptions } from '../../controllers/options.ts';
import { defaultConcurrentSyncs, selectionErrors } from '../../controllers/options.ts';
import { UsageError } from '../errors.ts';
import { flagError, readFlag } from '../options/flags.ts';
import { parseFeatureGates } from '../options/feature-gates.ts';
import { parseGoDuration } from '../part/duration.ts';
import { leaderFlags, readElection } from '../part/leader-flags.ts';
import type { LoadPart, Part } from '../part/part.ts';
import type { Flag, Settings } from '../settings.ts';

const lease = 'fairlead-controllers';
const most = { workers: 1000, endpoints: 1000 };

/** Numbers that can be set, under the names that kube-controller-manager has for them. */
const numbers = [
  [
    'concurrent-endpoint-syncs',
    'concurrentEndpointSyncs',
    'Services whose Endpoints are kept at once',
    defaultConcurrentSyncs,
    most.workers,
  ],
  [
    'concurrent-service-endpoint-syncs',
    'concurrentServiceEndpointSyncs',
    'Services whose slices are kept at once',
    defaultConcurrentSyncs,
    most.workers,
  ],
  [
    'mirroring-concurrent-service-endpoint-syncs',
    'mirroringConcurrentServiceEndpointSyncs',
    'Endpoints that are mirrored at once',
    5,
    most.workers,
  ],
  ['concurrent-gc-syncs', 'concurrentGcSyncs', 'objects that are collected at once', 20, most.workers],
  ['max-endpoints-per-slice', 'maxEndpointsPerSlice', 'endpoints in a slice, 1 to 1000', 100, most.endpoints],
  [
    'mirroring-max-endpoints-per-subset',
    'mirroringMaxEndpointsPerSubset',
    'addresses of a subset that are mirrored, 1 to 1000',
    1000,
    most.endpoints,
  ],
] as const satisfies readonly (readonly [string, keyof ControllersOptions, string, number, number])[];

/** Times that can be set likewise. */
const times = [
  ['endpoint-updates-batch-period', 'endpointUpdatesBatchPeriodMs', 'gather changes of Pods for this long'],
  [
    'mirroring-endpointslice-updates-batch-period',
    'mirroringEndpointUpdatesBatchPeriodMs',
    'gather changes of Endpoints for this long before they are mirrored',
  ],
] as const satisfies readonly (readonly [string, keyof ControllersOptions, string])[];

const flags: readonly Flag[] = [
  {
    name: 'controllers',
    value: 'LIST',
    description: 'which to run: * for all, NAME for one, -NAME for all but one',
    default: '*',
  },
  ...leaderFlags(lease),
  ...numbers.map(([name, , description, number]) => ({ name, value: 'N', description, default: String(number) })),
  ...times.map(([name, , description]) => ({ name, value: 'DURATION', description, default: '0s' })),
  { name: 'feature-gates', value: 'A=true,...', description: 'see `fairlead gates`', repeatable: true },
];

/** `fairlead controllers`: EndpointSlices, Endpoints, their mirrors, and the collection of garbage. */
export const part: Part = {
  name: 'controllers',
  description: 'Keep EndpointSlices and Endpoints as Pods and Services ask, and collect what has lost its owner.',
  example: `  fairlead controllers --kubeconfig controllers.kubeconfig
  fairlead controllers --context prod --controllers '*,-garbage-collector-controller'`,
  health: 10_357,
  flags,
  alone: (settings) => load(readOptions(settings)),
  // The data directory has one holder, so there is nobody to stand against.
  inUp: ({ gates }) => load({ gates }),
};

const load =
  (options: ControllersOptions): LoadPart =>
  async () => {
    const { startControllers } = await import('../../controllers/controllers.ts');
    return (context) => startControllers(context, options);
  };

function readOptions(settings: Settings): ControllersOptions {
  const gates = settings.get('feature-gates')?.join(',') ?? '';
  const election = readElection(settings, lease);
  const given = [
    ...numbers.map(([name, option, , fallback, largest]) => [
      option,
      readFlag(settings, name, parseCount(largest), fallback),
    ]),
    ...times.map(([name, option]) => [option, readFlag(settings, name, parseGoDuration, 0)]),
  ];
  return {
    ...Object.fromEntries(given),
    controllers: readFlag(settings, 'controllers', parseSelection, ['*']),
    gates: flagError('feature-gates', gates, () => parseFeatureGates(gates)).gates,
    ...(election === undefined ? {} : { leaderElection: election }),
  };
}

const parseCount =
  (largest: number) =>
  (text: string): number => {
    const count = /^\d{1,5}$/.test(text) ? Number(text) : 0;
    if (count < 1 || count > largest) throw new UsageError(`expected a number from 1 to ${largest}`);
    return count;
  };

function parseSelection(text: string): readonly string[] {
  const words = text.split(',').map((word) => word.trim());
  const [error] = selectionErrors(words);
  if (error !== undefined) throw new UsageError(error);
  return words;
}
