import type { MemberEntry, MulticlusterOptions } from '../multicluster/multicluster.ts';
import { endpointRangesOf } from '../multicluster/guard/policy.ts';
import { Vips } from '../multicluster/member/vips.ts';
import type { LoadPart, Part, StartContext, UpCluster } from './part/part.ts';
import { UsageError } from './errors.ts';

/** `fairlead multicluster`: joins the Services of several clusters. */
export const part: Part = {
  name: 'multicluster',
  description: 'Join the Services of several clusters: what one exports, all can use.',
  example: `  fairlead multicluster --members members.yaml --context east`,
  health: 10_358,
  flags: [],
  alone: () => {
    throw new UsageError('not yet');
  },
  isOneForAll: true,
  inUp: (cluster) => load(inUpOptions(cluster)),
};

type Options = (context: StartContext) => MulticlusterOptions;

const load =
  (options: Options): LoadPart =>
  async () => {
    const { startMulticluster } = await import('../multicluster/multicluster.ts');
    return (context) => startMulticluster(context, options(context));
  };

/** Endpoints can be anywhere: all clusters of `up` are of one machine and one person, and loopback is where its Pods are. */
const anywhere = endpointRangesOf(['0.0.0.0/0', '::/0']);

const inUpOptions =
  ({ all = [], gates }: UpCluster): Options =>
  ({ peers }) => {
    const entries = all.map(({ name, superclusterCidrs = [] }): MemberEntry => ({
      id: name,
      connect() {
        const connect = peers?.get(name);
        if (connect === undefined) throw new Error(`bug: no way to cluster "${name}"`);
        return connect();
      },
      policy: { endpointRanges: anywhere },
      vips: new Vips(superclusterCidrs),
      acceptsRelaxedNames: gates.enabled('RelaxedServiceNameValidation'),
      keepsSrvNames: gates.enabled('SRVServiceName'),
    }));
    return { members: (change) => change(entries) };
  };
