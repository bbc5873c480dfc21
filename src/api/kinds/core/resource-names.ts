// Validation of the names of resources, such as cpu and example.org/gpu.
import { qualifiedNameErrors } from '../../names.ts';
import { hugePagesPrefix, isExtendedName, isNativeName, isStandardName } from './resourcequota/names.ts';

const ofContainers = new Set(['cpu', 'memory', 'ephemeral-storage']);

/** Errors of the name of any resource. */
export function resourceNameErrors(name: string): readonly string[] {
  const malformed = qualifiedNameErrors(name);
  if (malformed.length > 0 || name.includes('/') || name === 'storage' || isStandardName(name)) return malformed;
  return ['must be a standard resource type or fully qualified'];
}

/** Errors of the name of a resource that containers use. */
export function containerResourceNameErrors(name: string): readonly string[] {
  const errors = resourceNameErrors(name);
  if (!name.includes('/')) {
    if (ofContainers.has(name) || name.startsWith(hugePagesPrefix)) return errors;
    return [...errors, 'must be a standard resource for containers'];
  }
  const isValid = isNativeName(name) || (isExtendedName(name) && qualifiedNameErrors(`requests.${name}`).length === 0);
  return isValid ? errors : [...errors, "doesn't follow extended resource name standard"];
}
