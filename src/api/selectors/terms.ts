import { badRequest } from '../errors.ts';

/** The most terms of a selector: a list checks each of them for every object. */
export const maxTerms = 100;

export const tooManyTerms = (): Error => badRequest(`invalid selector: it has more than ${maxTerms} terms`);
