/** The table of each family that a proxy has unless it is told another. */
export const defaultTableName = 'fairlead-proxy';

/** Whether a table may have a name. */
export const isTableName = (name: string): boolean => /^[a-z][a-z0-9-]{0,30}$/.test(name);
