/** The default table in each family. */
export const defaultTableName = 'fairlead-proxy';

/** Whether a table name is valid. */
export const isTableName = (name: string): boolean => /^[a-z][a-z0-9-]{0,30}$/.test(name);
