/** The user as which a part of Fairlead acts. */
export const partUser = (part: string): string => `system:fairlead:${part}`;
