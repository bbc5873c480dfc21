import { storeContract } from '../testing/contract.ts';
import { openMemoryStore } from './memory.ts';

storeContract('memory', (limits) => Promise.resolve({ store: openMemoryStore(limits), prefix: '/test/' }));
