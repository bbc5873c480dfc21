import assert from 'node:assert/strict';
import { test } from 'node:test';
import { definitionsOf } from './definition.ts';
import { clusterMemberKind } from './kinds/multicluster/clustermember/kind.ts';
import { kinds } from './kinds/registry.ts';

test('every kind that behaves as a custom resource has one definition, whose first version is stored', () => {
  const definitions = definitionsOf(kinds) as readonly {
    readonly metadata: { readonly name: string };
    readonly spec: { readonly versions: readonly { readonly name: string; readonly storage: boolean }[] };
  }[];
  assert.deepEqual(
    Object.fromEntries(
      definitions.map(({ metadata, spec }) => [
        metadata.name,
        spec.versions.map(({ name, storage }) => (storage ? `${name}*` : name)).join(' '),
      ]),
    ),
    {
      'serviceexports.multicluster.k8s.io': 'v1alpha1*',
      'importedservices.multicluster.k8s.io': 'v1alpha1*',
      'serviceexports.multicluster.x-k8s.io': 'v1beta1* v1alpha1',
      'serviceimports.multicluster.x-k8s.io': 'v1beta1* v1alpha1',
      'clusterproperties.about.k8s.io': 'v1beta1* v1alpha1',
      'cloudloadbalancers.loadbalancer.fairlead.dev': 'v1alpha1*',
      'clustermembers.multicluster.fairlead.dev': 'v1alpha1*',
      'gatewayclasses.gateway.networking.k8s.io': 'v1* v1beta1',
      'gateways.gateway.networking.k8s.io': 'v1* v1beta1',
      'tcproutes.gateway.networking.k8s.io': 'v1* v1alpha2',
      'udproutes.gateway.networking.k8s.io': 'v1* v1alpha2',
      'referencegrants.gateway.networking.k8s.io': 'v1* v1beta1',
    },
  );
});

test('a definition has the names, columns and fields of its kind', () => {
  const [{ spec } = assert.fail()] = JSON.parse(JSON.stringify(definitionsOf([clusterMemberKind])));
  assert.deepEqual(spec.names.shortNames, ['clmem']);
  const [{ additionalPrinterColumns: columns, schema, subresources }] = spec.versions;
  assert.deepEqual(subresources, { status: {} });
  assert.deepEqual(
    columns.map(({ name, jsonPath }: { name: string; jsonPath: string }) => `${name} ${jsonPath}`),
    [
      'Reachable .status.conditions[?(@.type=="Reachable")].status',
      'Accepted .status.conditions[?(@.type=="Accepted")].status',
      'InSync .status.conditions[?(@.type=="InSync")].status',
      'Version .status.version',
      'Exports .status.exportCount',
      'Age .metadata.creationTimestamp',
    ],
  );
  const { required, properties } = schema.openAPIV3Schema;
  assert.deepEqual(required, ['spec']);
  assert.deepEqual(properties.metadata, { type: 'object' });
  assert.deepEqual(properties.spec.properties.secretRef.required, ['name']);
  assert.deepEqual(properties.status.properties.conditions['x-kubernetes-list-map-keys'], ['type']);
  assert.deepEqual(properties.spec.properties.endpointCIDRs, {
    type: 'array',
    items: { type: 'string' },
    'x-kubernetes-list-type': 'set',
    description: 'Ranges of its endpoints; others are dropped. Default: all except the ranges of others.',
  });
});
