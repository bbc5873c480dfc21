/** What something thrown says. It stands alone, so that a worker thread can load it and nothing more. */
export const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));
