// A member as it is configured, in the file of members or as a ClusterMember.
import type { ClusterMemberSpec } from '../../api/kinds/multicluster/clustermember/schema.ts';
import type { Client } from '../../client/client.ts';
import { endpointRangesOf } from '../guard/policy.ts';
import type { MemberOptions } from './options.ts';

export interface MemberEntry extends MemberOptions {
  /** Opens the connection that is this member's identity. */
  readonly connect: () => Client;
  /** Changes when anything in the entry but `LiveOptions` does: the member is then replaced. Default: its id. */
  readonly version?: string | undefined;
}

/** What a person configures about a member, except how to reach it; the file and the kind have the same fields. */
export type MemberSettings = Omit<ClusterMemberSpec, 'secretRef' | 'context'>;

/** The options of a member with these settings. Its ranges of supercluster IPs are left to the caller, who may share them. */
export const optionsOf = ({
  endpointCIDRs,
  region,
  onLoss,
  relaxedNames,
  srvNames,
  leaving,
  draining,
  addressMode,
  addresses,
  ...settings
}: MemberSettings): Omit<MemberOptions, 'id' | 'vips'> => ({
  region,
  onLoss,
  policy: {
    namespaces: settings.namespaces,
    deniedNamespaces: settings.deniedNamespaces,
    endpointRanges:
      endpointCIDRs === undefined
        ? undefined
        : endpointRangesOf([
            ...endpointCIDRs,
            ...(addresses ?? []).map((each) => `${each}/${each.includes(':') ? 128 : 32}`),
          ]),
    maxExports: settings.maxExports,
    maxEndpoints: settings.maxEndpoints,
    maxEndpointsPerService: settings.maxEndpointsPerService,
  },
  acceptsRelaxedNames: relaxedNames,
  keepsSrvNames: srvNames,
  isLeaving: leaving,
  isDraining: draining,
  addressMode,
  addresses,
});
