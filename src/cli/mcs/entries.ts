import { homedir } from 'node:os';
import { delimiter, dirname, resolve } from 'node:path';
import { Client } from '../../client/client.ts';
import { overHttps } from '../../client/https.ts';
import type { KubeconfigOptions } from '../../client/kubeconfig.ts';
import { kubeconfigPaths, readKubeconfig } from '../../client/kubeconfig.ts';
import { retrying } from '../../client/retry.ts';
import type { Transport } from '../../client/transport.ts';
import { endpointRangesOf } from '../../multicluster/guard/policy.ts';
import { Vips } from '../../multicluster/member/vips.ts';
import type { MemberEntry } from '../../multicluster/multicluster.ts';
import { version } from '../program.ts';
import type { FileMember, MembersFile } from './members-file.ts';

/** The members of a file at `path`. Their connections are opened by the first request. */
export function entriesOf({ members, superclusterCIDRs }: MembersFile, path: string): readonly MemberEntry[] {
  const shared = superclusterCIDRs === undefined ? undefined : new Vips(superclusterCIDRs);
  return members.map((member): MemberEntry => {
    const { id, region, onLoss, relaxedNames, srvNames, leaving } = member;
    const own = member.superclusterCIDRs;
    return {
      id,
      region,
      onLoss,
      connect: () => connectTo(member, path),
      version: JSON.stringify([member, superclusterCIDRs]),
      vips: own === undefined ? shared : new Vips(own),
      policy: policyOf(member),
      acceptsRelaxedNames: relaxedNames,
      keepsSrvNames: srvNames,
      isLeaving: leaving,
    };
  });
}

const policyOf = (member: FileMember): MemberEntry['policy'] => ({
  namespaces: member.namespaces,
  deniedNamespaces: member.deniedNamespaces,
  endpointRanges: member.endpointCIDRs === undefined ? undefined : endpointRangesOf(member.endpointCIDRs),
  maxExports: member.maxExports,
  maxEndpoints: member.maxEndpoints,
  maxEndpointsPerService: member.maxEndpointsPerService,
});

/** A client of the cluster that a member names. */
export function connectTo({ kubeconfig, context }: Pick<FileMember, 'kubeconfig' | 'context'>, path: string): Client {
  const paths =
    kubeconfig === undefined
      ? kubeconfigPaths(process.env, homedir(), delimiter)
      : [resolve(dirname(path), kubeconfig)];
  return clientOf({ paths, context });
}

/** A client of a context. The first request reads the kubeconfig. */
export function clientOf({ paths, context }: Pick<KubeconfigOptions, 'paths' | 'context'>): Client {
  const open = lazyTransport(async () => {
    const access = await readKubeconfig({ paths, context, env: process.env });
    return overHttps(access, { userAgent: `fairlead-multicluster/${version}` });
  });
  return new Client(retrying(open), { fieldManager: 'fairlead-multicluster' });
}

/** A transport that is opened by its first request. While it cannot be opened, requests fail with the reason. */
function lazyTransport(open: () => Promise<Transport>): Transport {
  let opening: Promise<Transport> | undefined;
  let isClosed = false;
  const opened = (): Promise<Transport> => {
    if (isClosed) throw new Error('the transport is closed');
    opening ??= open().catch((error: unknown) => {
      opening = undefined; // the next request tries again
      throw error;
    });
    return opening;
  };
  return {
    request: async (call) => (await opened()).request(call),
    async *stream(call) {
      yield* (await opened()).stream(call);
    },
    [Symbol.dispose]() {
      isClosed = true;
      opening?.then(
        (transport) => transport[Symbol.dispose](),
        () => undefined, // it was never open
      );
    },
  };
}
