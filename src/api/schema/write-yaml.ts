import { dump } from 'js-yaml';

/** A value as YAML, keys in their order, as `kubectl` would read it. */
export const toYaml = (value: unknown): string => dump(value, { noRefs: true, lineWidth: -1 });
