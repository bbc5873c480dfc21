// Kubernetes' library for JSON patches, which only expressions of mutations have.

import type { CelFunction } from '../functions.ts';
import { define } from '../functions.ts';

const escapeKey = (key: string): string => key.replace(/[~/]/g, (character) => (character === '~' ? '~0' : '~1'));

export const patchFunctions: readonly CelFunction[] = [
  { ...define('::jsonpatch.escapeKey(string): string', escapeKey), forPatches: true },
];
