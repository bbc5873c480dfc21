/** The message of a thrown value. This file imports nothing, so that worker threads load nothing else with it. */
export const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));
