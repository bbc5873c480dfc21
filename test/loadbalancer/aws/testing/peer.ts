import { anyCredentials } from '../../../../src/loadbalancer/providers/aws/testing/credentials.ts';
import { connect } from '../../../../src/loadbalancer/providers/aws/connect.ts';
import type { Peer } from '../inventory.ts';
import { StandIn } from './server.ts';

/** The stand-in and SDK clients for it. */
export interface StandInPeer extends Peer {
  readonly standIn: StandIn;
}

/** Starts the stand-in. */
export async function standInPeer(): Promise<StandInPeer> {
  anyCredentials();
  const standIn = await StandIn.start();
  return {
    standIn,
    ...(await connect({ region: 'eu-central-1', endpoint: standIn.endpoint, maxAttempts: 1 })),
    subnets: ['subnet-0a', 'subnet-0b'],
    instances: ['i-0a', 'i-0b', 'i-0c'],
    [Symbol.asyncDispose]: () => standIn[Symbol.asyncDispose](),
  };
}
