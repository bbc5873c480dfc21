import type { Clock } from '../client/clock.ts';
import type { ImageMap } from './pods/images.ts';
import type { LogLimits } from './processes/log-file.ts';

/** Where the addresses of Pods come from. */
export type PodNetwork =
  | { readonly mode: 'host' }
  /** Each Pod has a loopback address of its own, which only this machine reaches. */
  | { readonly mode: 'loopback'; readonly cidr: string }
  /** Each Pod has a network namespace with an address of the range, by default the Pod range of the Node, and each container a root directory. */
  | {
      readonly mode: 'netns';
      readonly cidr: string | undefined;
      /** The DNS servers of the cluster; empty: the cluster IP of the Service kube-system/kube-dns. */
      readonly clusterDns: readonly string[];
      readonly clusterDomain: string;
    };

export interface AgentOptions {
  readonly nodeName: string;
  /** The addresses of the machine, the primary one first. */
  readonly addresses: readonly [string, ...string[]];
  /** Labels of the Node besides those that describe the machine. */
  readonly labels: Readonly<Record<string, string>>;
  /** The directory of its state, for this agent alone. */
  readonly directory: string;
  /** Where its server listens: the port is any free one if it is 0. */
  readonly listen: { readonly address: string; readonly port: number };
  /** Files of the certificate of its server; undefined: it signs its own. */
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  /** The authorities of client certificates of callers, PEM: those of the cluster. */
  readonly clientCa: string | undefined;
  readonly network: PodNetwork;
  readonly images: ImageMap;
  readonly maxPods: number;
  /** Whether Pods may use directories of the machine. */
  readonly allowsHostPaths: boolean;
  readonly logLimits?: LogLimits;
  /** Stops all Pods with the agent, instead of leaving them to the next one. */
  readonly stopsPods: boolean;
  /** The version that the Node reports. */
  readonly version: string;
  /** The environment that processes inherit: PATH, HOME and the like. */
  readonly environment: Readonly<Record<string, string>>;
  readonly clock?: Clock;
}
