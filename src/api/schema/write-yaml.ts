import { dump } from 'js-yaml';

/** A value as YAML in the style of Kubernetes: keys sorted, lists not indented, double quotes. */
export const toYaml = (value: unknown): string =>
  dump(value, { noRefs: true, lineWidth: -1, sortKeys: true, seqNoIndent: true, quoteStyle: 'double' });
