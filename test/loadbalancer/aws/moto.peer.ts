// The AWS adapter with the emulator moto: checks resources, without traffic.
import assert from 'node:assert/strict';

import { awsContract } from './contract.ts';
import { connect } from '../../../src/loadbalancer/providers/aws/connect.ts';
import type { Peer } from './inventory.ts';
import { startMoto, withoutMoto } from '../../harness/moto.ts';

const region = 'us-east-1';

/** Starts moto and creates the prerequisites of load balancers. */
async function motoPeer(): Promise<Peer> {
  const moto = await startMoto();
  const { endpoint } = moto;
  const subnets = idsIn(await askEc2(endpoint, { Action: 'DescribeSubnets' }), 'subnetId');
  const images = idsIn(await askEc2(endpoint, { Action: 'DescribeImages', 'Owner.1': 'amazon' }), 'imageId');
  const run = { Action: 'RunInstances', MinCount: '3', MaxCount: '3', ImageId: images[0] ?? '' };
  return {
    ...(await connect({ region, endpoint, maxAttempts: 1 })),
    subnets: subnets.slice(0, 2),
    instances: idsIn(await askEc2(endpoint, run), 'instanceId').toSorted(),
    [Symbol.asyncDispose]: () => moto[Symbol.asyncDispose](),
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

awsContract('moto', { start: motoPeer, skip: withoutMoto, fixedProtocols: 'moto 5.2 takes no UDP in ModifyListener' });
