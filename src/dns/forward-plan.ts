import type { ForwardSettings } from './config.ts';
import type { OwnPlaces } from './forward/endpoints.ts';
import { endpointsOfResolvConf, isOurselves } from './forward/endpoints.ts';
import type { ForwarderOptions } from './forward/forwarder.ts';
import type { PolicyOptions } from './forward/policy.ts';
import { defaultAllowed } from './forward/policy.ts';
import type { Endpoint } from './forward/udp.ts';
import { endpointName } from './forward/upstream.ts';

/** What the machine and the cluster are like. */
export interface Surroundings {
  /** The text of /etc/resolv.conf; empty where there is none. */
  readonly resolvConf: string;
  readonly own: OwnPlaces;
  /** CIDRs of Pods and Services, where they are known. */
  readonly clusterRanges: readonly string[];
}

/** How to forward: for a `Forwarder` and a `RecursionPolicy`, with what a person should know. */
export interface ForwardPlan {
  /** undefined: nothing is forwarded, and names that are not ours are refused. */
  readonly forwarder: Omit<ForwarderOptions, 'policy'> | undefined;
  readonly policy: PolicyOptions;
  /** Sentences for the log. */
  readonly warnings: readonly string[];
}

/** Decides whom to ask and who may ask, from what was configured and what is there. */
export function planForwarding(settings: ForwardSettings, surroundings: Surroundings): ForwardPlan {
  const { own, clusterRanges } = surroundings;
  const warnings: string[] = [];
  const withoutOurselves = (servers: readonly Endpoint[], where: string): readonly Endpoint[] => {
    const ours = servers.filter((server) => isOurselves(server, own));
    for (const server of ours) warnings.push(`${endpointName(server)} of ${where} is this server itself: not asked`);
    return servers.filter((server) => !ours.includes(server));
  };
  const system = (): readonly Endpoint[] => {
    const { upstreams, ourselves } = endpointsOfResolvConf(surroundings.resolvConf, own);
    const servers = withoutOurselves([...upstreams, ...ourselves], '/etc/resolv.conf');
    if (servers.length === 0) warnings.push('/etc/resolv.conf names no server to ask: pass --upstream');
    return servers;
  };
  const upstreams = settings.upstreams === undefined ? system() : withoutOurselves(settings.upstreams, '--upstream');
  const routes = new Map(
    Array.from(settings.routes, ([zone, servers]) => [zone, withoutOurselves(servers, `--stub-zone ${zone}`)] as const),
  );
  const { upstream, maxInFlight, maxWaitingPerClient, deadlineMs, refusePrivate, cache } = settings;
  const limits = { upstream, maxInFlight, maxWaitingPerClient, deadlineMs, refusePrivate };
  const given = Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
  return {
    forwarder: upstreams.length === 0 && routes.size === 0 ? undefined : { upstreams, routes, cache, ...given },
    policy: { allow: settings.allow ?? defaultAllowed(clusterRanges, own.machine), perSecond: settings.perSecond },
    warnings,
  };
}
