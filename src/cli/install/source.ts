import { installer } from './manifest.ts';
import type { Values } from './values.ts';

/**
 * Where manifests get their values: concrete ones for `fairlead install`, or the expressions of the Helm chart. What a source returns is
 * only placed into manifests, never inspected.
 */
export interface ValueSource {
  readonly namespace: string;
  readonly image: string;
  /** The value of the label app.kubernetes.io/managed-by. */
  readonly managedBy: string;
  value(section: string, key: string): unknown;
  /** These items, then those of the value; `%n` in an item is the namespace. */
  listed(items: readonly string[], section: string, key: string): unknown;
  /** These labels, and those of the value. */
  extended(labels: Readonly<Record<string, string>>, section: string, key: string): Readonly<Record<string, string>>;
}

/** Values that are known. */
export const concrete = (
  values: Values,
  { namespace, version }: { readonly namespace: string; readonly version: string },
): ValueSource => {
  const value = (section: string, key: string): unknown => values[section]?.[key];
  const tag = value('image', 'tag');
  return {
    namespace,
    managedBy: installer,
    image: `${String(value('image', 'repository'))}:${tag === '' ? version : String(tag)}`,
    value,
    extended: (labels, section, key) => ({ ...labels, ...(value(section, key) as object) }), // checked, as below
    listed: (items, section, key) => [
      ...items.map((item) => item.replace('%n', namespace)),
      ...(value(section, key) as readonly string[]), // the schema of the values has checked it
    ],
  };
};
