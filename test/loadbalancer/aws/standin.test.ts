import { awsContract } from './contract.ts';
import { standInPeer } from './standin/peer.ts';

awsContract('the stand-in', { start: standInPeer });
