// Objects as they are installed, and the labels by which they are found again.
import type { PolicyRule } from '../../api/kinds/rbac/policy-rule.ts';
import { rbacGroup } from '../../api/kinds/rbac/policy-rule.ts';

/** An object to apply. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ManifestMetadata;
  readonly [field: string]: unknown;
}

interface ManifestMetadata {
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** The default namespace of an installation. */
export const defaultNamespace = 'fairlead-system';

const managedByLabel = 'app.kubernetes.io/managed-by';
const componentLabel = 'app.kubernetes.io/component';

/** On every object that `fairlead install` and `fairlead mcs join` create. */
const installer = 'fairlead-install';

/** Whether they created an object. */
export const isInstalled = ({ metadata: { labels } }: { readonly metadata: { readonly labels?: object } }): boolean =>
  (labels as Readonly<Record<string, unknown>> | undefined)?.[managedByLabel] === installer;

/** The same object with the labels of an installation. */
export const installed = (manifest: Manifest, component: string): Manifest => ({
  ...manifest,
  metadata: {
    ...manifest.metadata,
    labels: {
      'app.kubernetes.io/name': 'fairlead',
      'app.kubernetes.io/part-of': 'fairlead',
      [componentLabel]: component,
      ...manifest.metadata.labels,
      [managedByLabel]: installer,
    },
  },
});

/** A role with the account that has it. */
export interface Grant {
  readonly name: string;
  readonly rules: readonly PolicyRule[];
  readonly account: { readonly namespace: string; readonly name: string };
  /** The namespace in which the role applies; undefined: the whole cluster. */
  readonly namespace?: string;
}

export const namespaceManifest = (name: string): Manifest => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name },
});

export const accountManifest = ({ namespace, name }: Grant['account']): Manifest => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name, namespace },
});

/** The role and its binding. */
export function grantManifests({ name, rules, account, namespace }: Grant): readonly Manifest[] {
  const [apiVersion, prefix] = [`${rbacGroup}/v1`, namespace === undefined ? 'Cluster' : ''];
  const metadata = { name, ...(namespace === undefined ? {} : { namespace }) };
  return [
    { apiVersion, kind: `${prefix}Role`, metadata, rules },
    {
      apiVersion,
      kind: `${prefix}RoleBinding`,
      metadata,
      roleRef: { apiGroup: rbacGroup, kind: `${prefix}Role`, name },
      subjects: [{ kind: 'ServiceAccount', ...account }],
    },
  ];
}
