// The ids of rows. Clusters have the names of contexts, which may contain slashes: those of EKS and OpenShift do.

export const clusterId = (cluster: string): string => `cluster/${encodeURIComponent(cluster)}`;

/** `key` is `namespace/name`. */
export const serviceId = (cluster: string, key: string): string => `service/${encodeURIComponent(cluster)}/${key}`;

/** `key` is `namespace/name`. */
export const importId = (cluster: string, key: string): string => `import/${encodeURIComponent(cluster)}/${key}`;

/** What an id names; what is absent is ''. */
export function parseId(id: string) {
  const [kind = '', cluster = '', namespace = '', name = ''] = id.split('/');
  return { kind, cluster: decoded(cluster), namespace, name };
}

/** Decodes a part of a URL. A malformed escape stays as it is. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
