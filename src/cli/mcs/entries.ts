import { homedir } from 'node:os';
import { delimiter, dirname, resolve } from 'node:path';
import { Client } from '../../client/client.ts';
import { overHttps } from '../../client/https.ts';
import type { KubeconfigOptions } from '../../client/kubeconfig.ts';
import { lazyTransport } from '../../client/lazy-transport.ts';
import { kubeconfigPaths, readKubeconfig } from '../../client/kubeconfig.ts';
import { retrying } from '../../client/retry.ts';
import { optionsOf } from '../../multicluster/member/entry.ts';
import { Vips } from '../../multicluster/member/vips.ts';
import type { MemberEntry } from '../../multicluster/member/entry.ts';
import { version } from '../program.ts';
import type { FileMember, MembersFile } from './members-file.ts';

/** The members of a file at `path`. Their connections are opened by the first request. */
export function entriesOf({ members, superclusterCIDRs }: MembersFile, path: string): readonly MemberEntry[] {
  const shared = superclusterCIDRs === undefined ? undefined : new Vips(superclusterCIDRs);
  return members.map((member): MemberEntry => {
    const { labels, draining: _, ...fixed } = member; // these change without a new connection
    const own = member.superclusterCIDRs;
    return {
      ...optionsOf(member),
      id: member.id,
      labels,
      connect: () => connectTo(member, path),
      version: JSON.stringify([fixed, superclusterCIDRs]),
      vips: own === undefined ? shared : new Vips(own),
    };
  });
}

/** A client of the cluster that a member names. */
export function connectTo({ kubeconfig, context }: Pick<FileMember, 'kubeconfig' | 'context'>, path: string): Client {
  return clientOf({ paths: pathsOf(kubeconfig, path), context });
}

/** The kubeconfig of a member of the file at `path`. */
export const pathsOf = (kubeconfig: string | undefined, path: string): readonly string[] =>
  kubeconfig === undefined ? kubeconfigPaths(process.env, homedir(), delimiter) : [resolve(dirname(path), kubeconfig)];

/** A client of a context. The first request reads the kubeconfig. */
export function clientOf({ paths, context }: Pick<KubeconfigOptions, 'paths' | 'context'>): Client {
  const open = lazyTransport(async () => {
    const access = await readKubeconfig({ paths, context, env: process.env });
    return overHttps(access, { userAgent: `fairlead-multicluster/${version}` });
  });
  return new Client(retrying(open), { fieldManager: 'fairlead-multicluster' });
}
