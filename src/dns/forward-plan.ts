import type { ForwardSettings } from './options.ts';
import type { OwnAddresses } from './forward/endpoints.ts';
import { endpointsOfResolvConf, isSelf } from './forward/endpoints.ts';
import type { ForwarderOptions } from './forward/forwarder.ts';
import type { PolicyOptions } from './forward/policy.ts';
import { defaultAllowed } from './forward/policy.ts';
import type { Endpoint } from './forward/udp.ts';
import { endpointName } from './forward/upstream.ts';

/** Facts about the machine and the cluster. */
export interface ForwardEnvironment {
  /** The text of /etc/resolv.conf; empty if there is none. */
  readonly resolvConf: string;
  readonly own: OwnAddresses;
  /** CIDRs of Pods and Services, if known. */
  readonly clusterRanges: readonly string[];
}

/** The options of `Forwarder` and `RecursionPolicy`, with warnings for the operator. */
export interface ForwardPlan {
  /** undefined: nothing is forwarded, and names outside our zones are refused. */
  readonly forwarder: Omit<ForwarderOptions, 'policy'> | undefined;
  readonly policy: PolicyOptions;
  /** Messages for the log. */
  readonly warnings: readonly string[];
}

/** Selects upstreams and allowed clients from the configuration and the environment. */
export function planForwarding(settings: ForwardSettings, environment: ForwardEnvironment): ForwardPlan {
  const { own, clusterRanges } = environment;
  const warnings: string[] = [];
  const withoutSelf = (servers: readonly Endpoint[], source: string): readonly Endpoint[] => {
    const self = servers.filter((server) => isSelf(server, own));
    for (const server of self)
      warnings.push(`ignored upstream ${endpointName(server)} of ${source}: it is this server`);
    return servers.filter((server) => !self.includes(server));
  };
  const system = (): readonly Endpoint[] => {
    const { upstreams, self } = endpointsOfResolvConf(environment.resolvConf, own);
    const servers = withoutSelf([...upstreams, ...self], '/etc/resolv.conf');
    if (servers.length === 0) warnings.push('/etc/resolv.conf has no usable name server: pass --upstream');
    return servers;
  };
  const upstreams = settings.upstreams === undefined ? system() : withoutSelf(settings.upstreams, '--upstream');
  const routes = new Map(
    Array.from(settings.routes, ([zone, servers]) => [zone, withoutSelf(servers, `--stub-zone ${zone}`)] as const),
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
