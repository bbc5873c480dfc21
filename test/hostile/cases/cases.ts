import type { HostileCase } from '../case.ts';
import { bodies } from './bodies.ts';

/** Every case, in the order in which they run. */
export const cases: readonly HostileCase[] = [...bodies];
