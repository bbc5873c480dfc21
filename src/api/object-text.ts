/**
 * How a message that readers of `namespace` can see names an object: by its key (`namespace/name`) if it is in that
 * namespace, otherwise only by its kind.
 */
export const objectText = (kind: string, key: string, namespace: string): string =>
  key.startsWith(`${namespace}/`) ? `${kind} ${key}` : `another ${kind}`;
