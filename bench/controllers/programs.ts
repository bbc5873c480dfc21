// Programs that write slices: ours, and kube-controller-manager with the same controllers and without its limits.

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';

/** A program that writes slices and Endpoints. */
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

/** Our controllers as a separate process. */
export const fairleadControllers: Program = {
  name: 'Fairlead',
  start(kubeconfig) {
    const program = new URL('../../bin/fairlead.js', import.meta.url).pathname;
    const flags = ['--kubeconfig', kubeconfig, '--leader-elect=false', '--health-port', '0', '--log-level', 'warn'];
    return spawn(process.execPath, [program, 'controllers', ...flags], { stdio: ['ignore', 'ignore', 'inherit'] });
  },
};

/** kube-controller-manager at `path`. */
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
