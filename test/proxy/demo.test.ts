// The demo of `npm start` works as its text promises, for a user without rights.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import type { Fairlead } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { unless, unlessInstalled } from '../harness/needs.ts';
import { giveToNobody, NobodysNetwork, whyNotNobody } from '../harness/nobody.ts';
import { FairleadProcess } from '../harness/process.ts';

const skip = unless(whyNotNobody()) || unlessInstalled('curl', 'dig');
const shop = (...clusters: readonly string[]): RegExp =>
  new RegExp(`^shop-[a-z\\d]+-[a-z\\d]{5} of (?:${clusters.join('|')})$`);

/** The expected output of each command. */
const stories: Readonly<Record<string, readonly RegExp[]>> = {
  'shop of each cluster: one of two Pods answers': [shop('east'), shop('west')],
  'shop of all clusters, at an address in each (KEP-1645)': [shop('east', 'west'), shop('east', 'west')],
  'one SRV name, two protocols (KEP-3241)': [
    /^0 100 8088 idm\.demo\.svc\.cluster\.local\.$/,
    /^0 100 8088 idm\.demo\.svc\.cluster\.local\.$/,
  ],
  'a Service named 2048 (KEP-5311)': [shop('east'), /^127\.64\.\d+\.\d+$/],
  'load balancers that take UDP and TCP on one port (KEP-1435)': [
    /^"shop-\S+ of east, over UDP"$/,
    /^"shop-\S+ of east, over TCP"$/,
    shop('east'),
  ],
  'old-shop, another name of shop (ExternalName)': [/^shop\.demo\.svc\.cluster\.local\.\n127\.64\.\d+\.\d+$/],
};

/** Runs the line that selects the kubeconfig, and then commands of kubectl. */
async function tryKubectl(network: NobodysNetwork, { process: { out } }: Fairlead): Promise<void> {
  const [line = ''] = /export KUBECONFIG=.*/.exec(out) ?? [];
  const [kubectl] = await findKubectls();
  const { out: printed, err } = await network.run(['bash', '-c', `${line}; '${kubectl?.path}' -n demo get all`]);
  assert.match(printed, /(?:\npod\/shop-\S+ +1\/1 +Running .*){2}\n\n/, err);
  assert.match(printed, /\ndeployment\.apps\/shop +2\/2 +2 +2 .*\n\n.*\nreplicaset\.apps\/shop-\S+ +2 +2 +2 .*\n$/);
}

/** A port that may not be bound is no warning at the start, and `proxy routes` explains why it is not routed. */
async function tryRoutes({ within }: NobodysNetwork, { process: { err }, kubeconfig }: Fairlead): Promise<void> {
  assert.equal(err, '', 'nothing to complain about');
  const flags = ['proxy', 'routes', 'default/kubernetes', '--kubeconfig', kubeconfig];
  await using routes = new FairleadProcess(flags, { within });
  assert.equal(await routes.ended(), 0, routes.err);
  assert.match(
    routes.out,
    /127\.64\.0\.1:443\/TCP {2}clusterIP {2}not served: port 443 needs root or CAP_NET_BIND_SERVICE/,
  );
  assert.match(routes.out, /^ {4}not used /m);
}

/** Runs the commands under each title in a shell until their output matches. */
async function tryAll(network: NobodysNetwork, { process: { out } }: Fairlead): Promise<void> {
  const blocks = out.split('    # ').slice(1);
  const printed = blocks.map((block) => block.trim().split(/\n +/));
  assert.deepEqual(
    printed.map(([title]) => title),
    Object.keys(stories),
  );
  for (const [title = '', ...commands] of printed) {
    assert.equal(commands.length, stories[title]?.length, title);
    for (const [index, command] of commands.entries()) {
      await until(`${title}: ${command}`, async () => {
        const { out: printed } = await network.run(['bash', '-c', command]);
        return stories[title]?.[index]?.test(printed.trim()) === true;
      });
    }
  }
}

test('the commands that the demo prints work for nobody, also after a restart and a kill', { skip }, async () => {
  await using directory = await temporaryDirectory();
  await giveToNobody(directory.path);
  using network = new NobodysNetwork();
  const { within } = network;
  const start = async (): Promise<Fairlead> => {
    const fairlead = await startFairlead(join(directory.path, 'my clusters'), ['up', '--demo'], { within });
    await fairlead.process.prints(/old-shop\.demo.*\n/);
    return fairlead;
  };
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    await using fairlead = await start();
    assert.equal(fairlead.process.err, '', 'nothing to complain about');
    await tryAll(network, fairlead);
    await fairlead.stop(signal);
    const pods = ['127.192.1.1', '127.192.1.2', '127.193.1.1', '127.193.1.2'].map((pod) => `http://${pod}:8080/`);
    await until(
      'the Pods of the demo have stopped',
      async () => (await network.run(['curl', '-s', ...pods])).out === '',
    );
  }
  await using last = await start();
  await tryAll(network, last);
  await tryKubectl(network, last);
  await tryRoutes(network, last);
  await using elsewhere = await temporaryDirectory();
  await giveToNobody(elsewhere.path);
  const again = new FairleadProcess(['up', '--demo', '--port-base', '0', '--data-dir', elsewhere.path], { within });
  assert.equal(await again.ended(), 1);
  assert.match(
    again.err,
    /cannot start Pod "shop-\S+" of the demo at .*: port \d+ is in use, .*: stop the other demo or program, /,
  );
});
