import { awsContract } from './aws.contract.ts';
import { standInPeer } from './standin/peer.ts';

awsContract('the stand-in', { start: standInPeer });
