import { awsContract } from './aws.contract.ts';
import { standInPeer } from './standin/peer.fixture.ts';

awsContract('the stand-in', { start: standInPeer });
