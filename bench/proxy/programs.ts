// Programs that write rules of the kernel: ours, and kube-proxy in the same mode.
import type { ChildProcess } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { start } from '../process.ts';

/** A program that writes rules of Services. */
export interface Program {
  readonly name: string;
  /** It is not run with more Services than this. */
  readonly mostServices: number;
  /** Starts it with `directory` for its files. */
  start(kubeconfig: string, directory: string): Promise<ChildProcess>;
}

/** The Node that they run on. */
export const nodeName = 'bench';
/** The addresses of Pods. */
export const podRange = '10.64.0.0/10';

/** Our proxy as a separate process. */
export const fairleadProxy: Program = {
  name: 'Fairlead',
  mostServices: Infinity,
  start(kubeconfig) {
    const program = new URL('../../bin/fairlead.js', import.meta.url).pathname;
    const flags = ['--kubeconfig', kubeconfig, '--hostname-override', nodeName, '--cluster-cidr', podRange];
    return Promise.resolve(start(process.execPath, [program, 'proxy', '--proxy-mode', 'nftables', ...flags]));
  },
};

/**
 * kube-proxy at `path` with its defaults, except settings of the whole machine. Its chains and maps, a few for
 * each Service, cost the kernel the square of their number: 20,000 Services of 10 endpoints held a CPU in one transaction
 * for 417 s (1.35.8 on Linux 6.18, "soft lockup", in nf_tables_newrule), and blocked all other programs.
 */
export const kubeProxy = (path: string): Program => ({
  name: 'kube-proxy',
  mostServices: 2000,
  async start(kubeconfig, directory) {
    const file = join(directory, 'kube-proxy.json');
    const unset = '0s';
    const settings = {
      apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
      kind: 'KubeProxyConfiguration',
      mode: 'nftables',
      hostnameOverride: nodeName,
      clientConnection: { kubeconfig, qps: 100_000, burst: 100_000 },
      detectLocalMode: 'ClusterCIDR',
      clusterCIDR: podRange,
      conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: unset, tcpCloseWaitTimeout: unset },
    };
    await writeFile(file, JSON.stringify(settings));
    return start(path, [`--config=${file}`]);
  },
});
