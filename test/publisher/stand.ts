// An API server, a `fairlead publisher` at it, and a DNS server that it writes to.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { until } from '../../src/server/testing/until.ts';
import { run } from '../harness/command.ts';
import { temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import type { ProcessOptions } from '../harness/process.ts';
import { FairleadProcess, root } from '../harness/process.ts';
import { FairleadServer } from '../harness/server.ts';
import { dig } from '../dns/clients.ts';
import { fairlead } from '../dns/stands.ts';
import type { Key, Maker } from './servers.ts';
import { key, keyFile, PrimaryServer, zone } from './servers.ts';

export interface PublisherStand extends AsyncDisposable {
  readonly primary: PrimaryServer;
  readonly kubeconfig: string;
  readonly server: FairleadServer;
  /** Runs kubectl as the administrator. */
  readonly kubectl: (args: readonly string[], input?: string) => Promise<string>;
  /** Starts a publisher. */
  readonly publish: (flags?: readonly string[], options?: ProcessOptions) => Promise<FairleadProcess>;
  /** Prints the plan. */
  readonly plan: (flags?: readonly string[]) => Promise<string>;
  /** Replaces the key file. */
  readonly useKey: (next: Key) => Promise<void>;
  /** The answers for a name below the zone. */
  readonly answers: (name: string, type?: string) => Promise<readonly string[]>;
  /** Waits until the answers for a name are these. */
  readonly waitFor: (name: string, type: string, want: readonly string[]) => Promise<void>;
  /** The reasons and messages of the Events about a Service. */
  readonly events: (service: string) => Promise<readonly string[]>;
}

/** Where the publisher writes: a provider with its flags. Left out: the server of the stand. */
export interface StandOptions {
  readonly provider?: readonly string[];
  readonly serverFlags?: readonly string[];
}

export async function startStand(maker: Maker, { provider, serverFlags }: StandOptions = {}): Promise<PublisherStand> {
  await using stack = new AsyncDisposableStack();
  const [primary, server, folder] = await Promise.all([
    PrimaryServer.start(maker).then((each) => stack.use(each)),
    FairleadServer.start(serverFlags).then((each) => stack.use(each)),
    temporaryDirectory().then((each) => stack.use(each)),
  ]);
  const kubeconfig = join(folder.path, 'publisher.kubeconfig');
  const added = await fairlead([
    'user',
    'add',
    'publisher',
    '--part',
    '-o',
    kubeconfig,
    '--data-dir',
    server.directory,
  ]);
  assert.equal(added.code, 0, added.err);
  const keyPath = join(folder.path, 'key.conf');
  const useKey = (next: Key): Promise<void> => writeFile(keyPath, keyFile(next));
  await useKey(key);
  const [found = assert.fail('no kubectl')] = await findKubectls();
  const kubectl: PublisherStand['kubectl'] = async (args, input = '') => {
    const { out, err, code } = await run(found.path, args, { input, env: { KUBECONFIG: server.kubeconfig } });
    assert.equal(code, 0, `kubectl ${args.join(' ')}: ${out}${err}`);
    return out;
  };
  const { address, port } = primary.place;
  const updates = ['--zone', zone, '--server', `${address}:${port}`, '--tsig-key-file', keyPath];
  const common = ['--kubeconfig', kubeconfig, ...(provider ?? updates)];
  const own = stack.move();
  const answers: PublisherStand['answers'] = async (name, type) =>
    (await dig(primary.place, `${name}.${zone}`, type)).answer;
  return {
    primary,
    server,
    kubeconfig,
    kubectl,
    useKey,
    async publish(flags = [], options = {}) {
      const args = ['publisher', ...common, '--health-port', '0', '--leader-elect=false', '--interval', '1s', ...flags];
      const process = own.use(new FairleadProcess(args, options));
      await process.ready();
      return process;
    },
    async plan(flags = []) {
      const { out, err, code } = await run(process.execPath, [
        join(root, 'bin', 'fairlead.js'),
        'publisher',
        'plan',
        ...common,
        ...flags,
      ]);
      assert.equal(code, 0, err);
      return out;
    },
    answers,
    async waitFor(name, type, want) {
      let last: readonly string[] = [];
      await until(`${type} ${name} is ${want.join(', ')}`, async () => {
        last = await answers(name, type);
        return last.join() === want.join();
      }).catch((error: unknown) => assert.fail(`${String(error)}; last: ${last.join(', ')}`));
    },
    async events(service) {
      const out = await kubectl([
        'get',
        'events',
        '--field-selector',
        `involvedObject.name=${service}`,
        '-o',
        'jsonpath={range .items[*]}{.reason}: {.message}{"\\n"}{end}',
      ]);
      return out.split('\n').filter((line) => line !== '');
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

/** A Service of type LoadBalancer and its status, as a load balancer controller leaves it. */
export const balanced = (
  name: string,
  {
    hostname,
    ports = '[{name: http, port: 80}]',
    annotations = '',
  }: { readonly hostname: string; readonly ports?: string; readonly annotations?: string },
): string =>
  `apiVersion: v1\nkind: Service\nmetadata: {name: ${name}, annotations: {fairlead.dev/hostname: "${hostname}"${annotations}}}\n` +
  `spec: {type: LoadBalancer, loadBalancerClass: example.org/test, ports: ${ports}}\n`;

/** Sets the status of the load balancer of a Service. */
export const setIngress = (stand: PublisherStand, name: string, ingress: string): Promise<string> =>
  stand.kubectl([
    'patch',
    'service',
    name,
    '--subresource=status',
    '--type=merge',
    '-p',
    `{"status":{"loadBalancer":{"ingress":${ingress}}}}`,
  ]);
