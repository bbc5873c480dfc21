// Annotations about names outside the cluster, on Services and exports.

/** In order of precedence: ours, that of ExternalDNS, and the one that ExternalDNS used until v0.22. */
export const publicationPrefixes = [
  'fairlead.dev/',
  'external-dns.kubernetes.io/',
  'external-dns.alpha.kubernetes.io/',
] as const;

/** The value of an annotation such as `hostname`, under the first prefix that has it. */
export function publicationAnnotationOf(
  annotations: Readonly<Record<string, string>> | undefined,
  name: string,
): string | undefined {
  if (annotations === undefined) return undefined;
  for (const prefix of publicationPrefixes) {
    const value = annotations[`${prefix}${name}`];
    if (value !== undefined) return value;
  }
  return undefined;
}

/** The elements of a value that is a list with commas. */
export const listOf = (text = ''): readonly string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
