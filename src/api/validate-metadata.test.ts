import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FieldError } from './field-errors.ts';
import type { ObjectMeta } from './metadata.ts';
import { subdomainName } from './names.ts';
import { validateMetadataCreate, validateMetadataUpdate } from './validate-metadata.ts';

const texts = (errors: readonly FieldError[]): string[] => errors.map(({ path, body }) => `${path}: ${body}`);
const start = (errors: readonly FieldError[]): string[] => texts(errors).map((text) => text.slice(0, 60));
const owner = { apiVersion: 'v1', kind: 'Service', name: 'web', uid: 'u' };
const metadata: ObjectMeta = { name: 'web', namespace: 'shop' };

const creations: readonly { name: string; given: ObjectMeta; namespaced?: boolean; want: readonly string[] }[] = [
  { name: 'no errors', given: metadata, want: [] },
  {
    name: 'no name',
    given: { namespace: 'shop' },
    want: ['metadata.name: Required value: name or generateName is required'],
  },
  { name: 'no namespace', given: { name: 'web' }, want: ['metadata.namespace: Required value'] },
  {
    name: 'a namespace on a cluster-scoped kind',
    given: metadata,
    namespaced: false,
    want: ['metadata.namespace: Forbidden: not allowed on this type'],
  },
  {
    name: 'an owner reference with empty fields',
    given: { ...metadata, ownerReferences: [{ apiVersion: '', kind: '', name: '', uid: '' }] },
    want: [
      'metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty',
      'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
      'metadata.ownerReferences.name: Invalid value: "": must not be empty',
      'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
    ],
  },
  {
    name: 'two controllers',
    given: {
      ...metadata,
      ownerReferences: [
        { ...owner, controller: true },
        { ...owner, name: 'b', controller: true },
      ],
    },
    want: [
      'metadata.ownerReferences: Invalid value: [{"apiVersion":"v1","kind":"Service","name":"web","uid":"u","controller":true},{"apiVersion":"v1","kind":"Service","name":"b","uid":"u","controller":true}]: Only one reference can have Controller set to true. Found "true" in references for Service/web and Service/b',
    ],
  },
  {
    name: 'an Event as owner',
    given: { ...metadata, ownerReferences: [{ ...owner, kind: 'Event' }] },
    want: [
      'metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"web","uid":"u"}: /v1, Kind=Event is disallowed from being an owner',
    ],
  },
  {
    name: 'a bare finalizer',
    given: { ...metadata, finalizers: ['mine', 'orphan', 'example.org/mine'] },
    want: [
      'metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified',
    ],
  },
  {
    name: 'finalizers that are mutually exclusive',
    given: { ...metadata, finalizers: ['orphan', 'foregroundDeletion'] },
    want: [
      'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be both set',
    ],
  },
  {
    name: 'annotations beyond 256 KiB',
    given: { ...metadata, annotations: { a: 'x'.repeat(262_144) } },
    want: ['metadata.annotations: Too long: may not be more than 262144 bytes'],
  },
  { name: 'an annotation key in upper case', given: { ...metadata, annotations: { 'Example.ORG/Key': '' } }, want: [] },
  {
    name: 'an invalid entry of managedFields',
    given: { ...metadata, managedFields: [{ operation: 'Create', fieldsType: 'V2', manager: 'm'.repeat(129) }] },
    want: [
      'metadata.managedFields[0].operation: Invalid value: "Create": must be `Apply` or `Update`',
      'metadata.managedFields[0].fieldsType: Invalid value: "V2": must be `FieldsV1`',
      'metadata.managedFields[0].manager: Too long: may not be more than 128 bytes',
    ],
  },
];
for (const { name, given, namespaced = true, want } of creations) {
  test(`new metadata with ${name}`, () => {
    assert.deepEqual(texts(validateMetadataCreate(given, { namespaced, nameErrors: subdomainName })), want);
  });
}

test('reports an invalid prefix together with the generated name', () => {
  const given = { ...metadata, name: 'Web-abcde', generateName: 'Web-' };
  assert.deepEqual(start(validateMetadataCreate(given, { namespaced: true, nameErrors: subdomainName })), [
    'metadata.generateName: Invalid value: "Web-": a lowercase RF',
    'metadata.name: Invalid value: "Web-abcde": a lowercase RFC 1',
  ]);
});

test('reports invalid label keys and values at metadata.labels', () => {
  const given = { ...metadata, labels: { 'a/b/c': 'ok', app: '-' } };
  assert.deepEqual(start(validateMetadataCreate(given, { namespaced: true, nameErrors: subdomainName })), [
    'metadata.labels: Invalid value: "a/b/c": a valid label key m',
    'metadata.labels: Invalid value: "-": a valid label must be a',
  ]);
});

const stored: ObjectMeta = { ...metadata, uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z', generation: 2 };
const updates: readonly { name: string; next: ObjectMeta; old?: ObjectMeta; want: readonly string[] }[] = [
  { name: 'no changes', next: stored, want: [] },
  {
    name: 'changes of immutable fields',
    next: { name: 'b', namespace: 'c', uid: 'v', generation: 1 },
    want: [
      'metadata.generation: Invalid value: 1: must not be decremented',
      'metadata.name: Invalid value: "b": field is immutable',
      'metadata.namespace: Invalid value: "c": field is immutable',
      'metadata.uid: Invalid value: "v": field is immutable',
      'metadata.creationTimestamp: Invalid value: null: field is immutable',
    ],
  },
  {
    name: 'finalizers added while it is being deleted',
    next: { ...stored, deletionTimestamp: 't', finalizers: ['x/c', 'x/b', 'x/a'] },
    old: { ...stored, deletionTimestamp: 't', finalizers: ['x/a'] },
    want: [
      'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"x/b", "x/c"}',
    ],
  },
  {
    name: 'finalizers removed while it is being deleted',
    next: { ...stored, deletionTimestamp: 't' },
    old: { ...stored, deletionTimestamp: 't', finalizers: ['x/a'] },
    want: [],
  },
];
for (const { name, next, old = stored, want } of updates) {
  test(`changed metadata with ${name}`, () => assert.deepEqual(texts(validateMetadataUpdate(next, old)), want));
}
