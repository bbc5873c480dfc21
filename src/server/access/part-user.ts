/** The user name of a part of Fairlead. */
export const partUser = (part: string): string => `system:fairlead:${part}`;
