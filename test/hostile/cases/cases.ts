import type { HostileCase } from '../case.ts';
import { answers } from './answers.ts';
import { bodies } from './bodies.ts';
import { connections } from './connections.ts';
import { customResources } from './custom-resources.ts';

/** All cases in the order in which they run. */
export const cases: readonly HostileCase[] = [...bodies, ...customResources, ...answers, ...connections];
