import { connect } from '../connect.ts';
import type { Peer } from '../inventory.fixture.ts';
import { StandIn } from './server.fixture.ts';

/** The stand-in, and the SDK that speaks to it. */
export interface StandInPeer extends Peer {
  readonly standIn: StandIn;
}

/** Credentials are found by the SDK; those of a stand-in are any. */
export function anyCredentials(): void {
  process.env['AWS_ACCESS_KEY_ID'] ??= 'test';
  process.env['AWS_SECRET_ACCESS_KEY'] ??= 'test';
}

/** Starts it. */
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
