import { storeContract } from '../store.contract.ts';
import { openMemoryStore } from './memory.ts';

storeContract('memory', () => Promise.resolve({ store: openMemoryStore(), prefix: '/test/' }));
