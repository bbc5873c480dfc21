import type { ControllersOptions } from '../controllers/options.ts';
import { selectionErrors } from '../controllers/options.ts';
import { UsageError } from './errors.ts';
import { flagError, readFlag } from './flags.ts';
import { parseFeatureGates } from './options/feature-gates.ts';
import { leaderFlags, readElection } from './part/leader-flags.ts';
import type { LoadPart, Part } from './part/part.ts';

const lease = 'fairlead-controllers';

/** `fairlead controllers`: EndpointSlices, Endpoints, their mirrors, and the collection of garbage. */
export const part: Part = {
  name: 'controllers',
  description: 'Keep EndpointSlices and Endpoints as Pods and Services ask, and collect what has lost its owner.',
  example: `  fairlead controllers --kubeconfig controllers.kubeconfig
  fairlead controllers --context prod --controllers '*,-garbage-collector-controller'`,
  healthPort: 10_357,
  flags: [
    {
      name: 'controllers',
      value: 'LIST',
      description: 'which to run: * for all, NAME for one, -NAME for all but one',
      default: '*',
    },
    ...leaderFlags(lease),
    { name: 'feature-gates', value: 'A=true,...', description: 'see `fairlead gates`', repeatable: true },
  ],
  alone(settings) {
    const gates = settings.get('feature-gates')?.join(',') ?? '';
    const election = readElection(settings, lease);
    return load({
      controllers: readFlag(settings, 'controllers', parseSelection, ['*']),
      gates: flagError('feature-gates', gates, () => parseFeatureGates(gates)).gates,
      ...(election === undefined ? {} : { leaderElection: election }),
    });
  },
  // The data directory has one holder, so there is nobody to stand against.
  inUp: ({ gates }) => load({ gates }),
};

const load =
  (options: ControllersOptions): LoadPart =>
  async () => {
    const { startControllers } = await import('../controllers/controllers.ts');
    return (context) => startControllers(context, options);
  };

function parseSelection(text: string): readonly string[] {
  const words = text.split(',').map((word) => word.trim());
  const [error] = selectionErrors(words);
  if (error !== undefined) throw new UsageError(error);
  return words;
}
