import assert from 'node:assert/strict';
import { test } from 'node:test';
import { enabledParts, neededGroups, partManifests } from './plan.ts';
import { defaultValues, mergeValues } from './values.ts';

test('values of a file replace the defaults one by one', () => {
  const values = mergeValues({ dns: { replicas: 3 }, crds: { install: false } }, 'values.yaml');
  assert.deepEqual([values['dns']?.['replicas'], values['dns']?.['enabled']], [3, true]);
  assert.deepEqual(values['reaper'], defaultValues['reaper']);
  assert.deepEqual(neededGroups(values), []);
});

test('an empty file has the defaults', () => assert.equal(mergeValues(null, 'values.yaml'), defaultValues));

const rejected: readonly (readonly [unknown, string])[] = [
  [{ toString: {} }, 'there is no value "toString": known are '],
  [{ dns: { constructor: 1 } }, 'there is no value "dns.constructor": known are '],
  [{ dns: { nodeSelector: { a: 1 } } }, '"dns.nodeSelector": expected a text'],
  [{ dns: { tolerations: ['x'] } }, '"dns.tolerations": expected a mapping'],
  [{ dns: { replicas: 1.5 } }, '"dns.replicas": expected a number of 1 or more'],
  [{ dns: null }, '"dns" is not a mapping'],
];
for (const [given, want] of rejected) {
  test(`rejects ${JSON.stringify(given)}`, () => {
    assert.throws(
      () => mergeValues(given, 'values.yaml'),
      (error: Error) => error.message.startsWith(`values.yaml: ${want}`),
    );
  });
}

test('every object is in the namespace, but for ClusterRoles and what gateways register in, and has the labels of the installation', () => {
  const all = Object.fromEntries(
    Object.entries(defaultValues).map(([name, section]) => [
      name,
      'enabled' in section ? { ...section, enabled: true } : section,
    ]),
  );
  assert.equal(enabledParts(all).length, 7);
  for (const { kind, metadata } of partManifests({ values: all, namespace: 'here', version: '1' })) {
    const isClusterScoped = ['Namespace', 'ClusterRole', 'ClusterRoleBinding'].includes(kind);
    const isRegistry = metadata.name === 'fairlead-gateway' && ['Role', 'RoleBinding', 'Service'].includes(kind);
    const want = isClusterScoped ? undefined : isRegistry ? 'fairlead-system' : 'here';
    assert.equal(metadata.namespace, want, `${kind} ${metadata.name}`);
    assert.equal(metadata.labels?.['app.kubernetes.io/managed-by'], 'fairlead-install', `${kind} ${metadata.name}`);
  }
});

test('no container of a part may gain rights, and only the proxy has capabilities', () => {
  const all = Object.fromEntries(
    Object.entries(defaultValues).map(([name, section]) => [
      name,
      'enabled' in section ? { ...section, enabled: true } : section,
    ]),
  );
  for (const manifest of partManifests({ values: all, namespace: 'here', version: '1' })) {
    if (!['Deployment', 'DaemonSet'].includes(manifest.kind)) continue;
    const { containers } = (manifest as unknown as Workload).spec.template.spec;
    for (const { name, securityContext: context, image } of containers) {
      assert.equal(context.allowPrivilegeEscalation, false);
      assert.equal(context.readOnlyRootFilesystem, true);
      assert.deepEqual(context.capabilities.drop, ['ALL']);
      assert.equal(context.runAsNonRoot, name === 'proxy' ? undefined : true, name);
      assert.deepEqual(
        context.capabilities.add,
        name === 'proxy' ? ['NET_ADMIN', 'NET_BIND_SERVICE'] : undefined,
        name,
      );
      assert.equal(image, 'registry.example.org/fairlead:1');
    }
  }
});

interface Workload {
  readonly spec: { readonly template: { readonly spec: { readonly containers: readonly Container[] } } };
}

interface Container {
  readonly name: string;
  readonly image: string;
  readonly securityContext: {
    readonly allowPrivilegeEscalation: boolean;
    readonly readOnlyRootFilesystem: boolean;
    readonly runAsNonRoot?: boolean;
    readonly capabilities: { readonly drop: readonly string[]; readonly add?: readonly string[] };
  };
}
