// The programs that keep slices: ours, and the one of Kubernetes with the same controllers and its limits lifted.

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';

/** Something that keeps slices and Endpoints. */
export interface Program {
  readonly name: string;
  start(kubeconfig: string): ChildProcess;
}

const controllers = [
  'endpointslice-controller',
  'endpoints-controller',
  'endpointslice-mirroring-controller',
  'garbage-collector-controller',
];

/** Our controllers as a process of their own. */
export const fairleadControllers: Program = {
  name: 'Fairlead',
  start(kubeconfig) {
    const program = new URL('../../bin/fairlead.js', import.meta.url).pathname;
    const flags = ['--kubeconfig', kubeconfig, '--leader-elect=false', '--health-port', '0', '--log-level', 'warn'];
    return spawn(process.execPath, [program, 'controllers', ...flags], { stdio: ['ignore', 'ignore', 'inherit'] });
  },
};

/** kube-controller-manager, which lies at `path`. */
export const kubeControllerManager = (path: string): Program => ({
  name: 'kube-controller-manager',
  start(kubeconfig) {
    const flags = [
      `--kubeconfig=${kubeconfig}`,
      `--controllers=${controllers.join()}`,
      '--leader-elect=false',
      '--secure-port=0',
      '--authentication-skip-lookup=true',
      '--kube-api-qps=100000',
      '--kube-api-burst=100000',
    ];
    return spawn(path, flags, { stdio: 'ignore' });
  },
});
