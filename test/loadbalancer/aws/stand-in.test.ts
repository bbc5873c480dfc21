import { awsContract } from './contract.ts';
import { standInPeer } from './testing/peer.ts';

awsContract('the stand-in', { start: standInPeer });
