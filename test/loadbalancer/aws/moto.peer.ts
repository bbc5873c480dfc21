// The AWS adapter with the emulator moto: checks resources, without traffic.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

import { awsContract } from './contract.ts';
import { connect } from '../../../src/loadbalancer/providers/aws/connect.ts';
import type { Peer } from './inventory.ts';
import { anyCredentials } from '../../../src/loadbalancer/providers/aws/testing/credentials.ts';
import { find } from '../../harness/needs.ts';

const region = 'us-east-1';
const program = process.env['MOTO_SERVER'] ?? find('moto_server');
const skip = program === undefined && 'moto_server is not on the PATH, nor in MOTO_SERVER';

/** Starts moto and creates the prerequisites of load balancers. */
async function motoPeer(): Promise<Peer> {
  anyCredentials();
  const child = spawn(program ?? assert.fail(), ['-H', '127.0.0.1', '-p', '0'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || !child.kill()) return;
    await once(child, 'exit');
  };
  let endpoint: string | undefined;
  for await (const line of createInterface(child.stderr)) {
    endpoint = /Running on (http:\S+)/.exec(line)?.[1];
    if (endpoint !== undefined) break;
  }
  assert.ok(endpoint, 'moto did not start');
  child.stderr.resume();
  const subnets = idsIn(await askEc2(endpoint, { Action: 'DescribeSubnets' }), 'subnetId');
  const images = idsIn(await askEc2(endpoint, { Action: 'DescribeImages', 'Owner.1': 'amazon' }), 'imageId');
  const run = { Action: 'RunInstances', MinCount: '3', MaxCount: '3', ImageId: images[0] ?? '' };
  return {
    ...(await connect({ region, endpoint, maxAttempts: 1 })),
    subnets: subnets.slice(0, 2),
    instances: idsIn(await askEc2(endpoint, run), 'instanceId').toSorted(),
    [Symbol.asyncDispose]: stop,
  };
}

/** Three EC2 calls without the SDK. */
async function askEc2(endpoint: string, input: Readonly<Record<string, string>>): Promise<string> {
  const authorization = `AWS4-HMAC-SHA256 Credential=test/20260101/${region}/ec2/aws4_request`;
  const body = new URLSearchParams({ ...input, Version: '2016-11-15' });
  const response = await fetch(endpoint, { method: 'POST', headers: { authorization }, body });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return text;
}

const idsIn = (xml: string, element: string): readonly string[] =>
  Array.from(new Set(Array.from(xml.matchAll(new RegExp(`<${element}>([^<]+)<`, 'g')), ([, id = '']) => id)));

awsContract('moto', { start: motoPeer, skip, fixedProtocols: 'moto 5.2 takes no UDP in ModifyListener' });
