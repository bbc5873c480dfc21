import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import type { Transport } from '../../client/transport.ts';
import { refusal } from '../../client/transport.ts';
import { applyManifests } from '../apply/apply.ts';
import { FatalError } from '../errors.ts';
import { columns } from '../output.ts';
import type { ControlPlane } from '../up/control-plane.ts';
import type { DemoPod } from './objects.ts';
import { demoManifests, demoNamespace, demoPods, readyStatus } from './objects.ts';

const program = fileURLToPath(new URL('./backend.ts', import.meta.url));
/** How long the other parts may take to notice what was made, before the addresses are printed without theirs. */
const patienceMs = 5000;

/**
 * Fills the clusters with something to try: Pods that are processes of this machine, and Services before them. What it
 * starts ends with this process. The result is what to try, a line each.
 */
export async function startDemo({ state, connect }: ControlPlane): Promise<string> {
  const clusters = await Promise.all(
    state.clusters.map(async ({ name, dns }, index) => {
      const pods = demoPods(index);
      await Promise.all(pods.map((pod) => startPod(pod, name)));
      using api = connect(name);
      await applyManifests(api, name, demoManifests(pods));
      for (const pod of pods) await tellReady(api, pod);
      return { name, dns };
    }),
  );
  const rows: (readonly string[])[] = [];
  for (const { name, dns } of clusters) {
    using api = connect(name);
    const [shop, sip] = [await serviceIp(api, 'shop'), await serviceIp(api, 'sip')];
    const imported = await importedIp(api, clusters.length > 1);
    rows.push([`curl http://${shop}:8080/`, `shop of ${name}`]);
    if (imported !== undefined) rows.push([`curl http://${imported}:8080/`, `shop of all clusters, from ${name}`]);
    rows.push([`curl telnet://${sip}:5060`, `sip of ${name}, which is the same over UDP`]);
    if (dns === undefined) continue;
    const at = `dig @${dns.address} -p ${dns.port} +short`;
    rows.push([`${at} shop.${demoNamespace}.svc.supercluster.local`, 'the name of shop of all clusters']);
    rows.push([`${at} SRV _kerberos._udp.idm.${demoNamespace}.svc.cluster.local`, 'one SRV name, two protocols']);
  }
  return ['  try', ...columns(rows).map((line) => `    ${line}`), ''].join('\n');
}

/** Starts the process of a Pod; resolves when it serves. */
function startPod({ name, address }: DemoPod, cluster: string): Promise<void> {
  const child = fork(program, [`${name} of ${cluster}`, address], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  return new Promise((resolve, reject) => {
    const failed = (why: string): void =>
      reject(new FatalError(`cannot start Pod "${name}" of the demo at ${address}: ${why}`));
    child.once('message', (message: { readonly problem?: string }) => {
      if (message.problem !== undefined) return failed(message.problem);
      letGo(child);
      resolve();
    });
    child.once('error', (error) => failed(error.message));
    child.once('exit', () => failed('it ended'));
  });
}

/** It ends when this process does, and does not keep it from ending. */
function letGo(child: ChildProcess): void {
  child.unref();
  child.channel?.unref();
}

async function tellReady(api: Transport, pod: DemoPod): Promise<void> {
  const answer = await api.request({
    method: 'PATCH',
    path: `/api/v1/namespaces/${demoNamespace}/pods/${pod.name}/status`,
    type: 'application/merge-patch+json',
    body: JSON.stringify({ status: readyStatus(pod) }),
  });
  if (answer.status >= 300) throw new FatalError(`cannot make Pod "${pod.name}" ready: ${refusal(answer).message}`);
}

async function serviceIp(api: Transport, name: string): Promise<string> {
  const path = `/api/v1/namespaces/${demoNamespace}/services/${name}`;
  const { body } = await api.request({ method: 'GET', path });
  // A cast where bytes become objects: a Service that was applied just now.
  return (JSON.parse(body) as { readonly spec: { readonly clusterIP: string } }).spec.clusterIP;
}

/** The address of the import, when it has one; it takes the clusters a moment to agree. */
async function importedIp(api: Transport, isExpected: boolean): Promise<string | undefined> {
  const path = `/apis/multicluster.k8s.io/v1alpha1/namespaces/${demoNamespace}/importedservices/shop`;
  const end = performance.now() + patienceMs;
  while (isExpected && performance.now() < end) {
    const { status, body } = await api.request({ method: 'GET', path });
    // As above: an ImportedService.
    const ip = status === 200 ? (JSON.parse(body) as { readonly spec?: { readonly ip?: string } }).spec?.ip : undefined;
    if (ip !== undefined && ip !== '') return ip;
    await delay(20);
  }
  return undefined;
}
