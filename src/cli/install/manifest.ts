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
export const installer = 'fairlead-install';

/** Selects what they created. */
export const installedSelector = `${managedByLabel}=${installer}`;

/** Whether they created an object. */
export const isInstalled = ({ metadata: { labels } }: { readonly metadata: { readonly labels?: object } }): boolean =>
  (labels as Readonly<Record<string, unknown>> | undefined)?.[managedByLabel] === installer;

/** The labels of the objects of a component; `managedBy` differs for a release of Helm. */
export const labelsOf = (component: string, managedBy = installer): Readonly<Record<string, string>> => ({
  ...selectorOf(component),
  'app.kubernetes.io/part-of': 'fairlead',
  [managedByLabel]: managedBy,
});

/** The labels by which workloads and Services select Pods, which cannot be changed later. */
export const selectorOf = (component: string): Readonly<Record<string, string>> => ({
  'app.kubernetes.io/name': 'fairlead',
  [componentLabel]: component,
});

/** The same object with further labels. */
export const labelled = (manifest: Manifest, labels: Readonly<Record<string, string>>): Manifest => ({
  ...manifest,
  metadata: { ...manifest.metadata, labels: { ...labels, ...manifest.metadata.labels } },
});

/** The same object with the labels of an installation. */
export const installed = (manifest: Manifest, component: string): Manifest => labelled(manifest, labelsOf(component));

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
