/** The format of times in metadata and conditions: RFC 3339 in UTC, with whole seconds. */
export const timestamp = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;
