import { getOrCompute } from '../../maps.ts';
import type { CelFunction } from '../functions.ts';
import { authorizerFunctions } from './authorizer.ts';
import { kubernetesFunctions } from './kubernetes.ts';
import { listFunctions } from './lists.ts';
import { networkFunctions } from './network.ts';
import { patchFunctions } from './patches.ts';
import { standardFunctions } from './standard.ts';
import { stringFunctions } from './strings.ts';

const byName = new Map<string, CelFunction[]>();
const nameOf = (name: string, isMember: boolean): string => `${isMember ? '.' : ''}${name}`;
for (const each of [
  ...standardFunctions,
  ...stringFunctions,
  ...listFunctions,
  ...networkFunctions,
  ...kubernetesFunctions,
  ...authorizerFunctions,
  ...patchFunctions,
]) {
  getOrCompute(byName, nameOf(each.name, each.isMember), () => []).push(each);
}

/** The overloads of a function, or of a method. */
export const functionsNamed = (name: string, isMember: boolean): readonly CelFunction[] =>
  byName.get(nameOf(name, isMember)) ?? [];
