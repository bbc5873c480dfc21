import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { OptionsKind, WriteOptions } from './write-options.ts';
import { managerOf, parseWriteOptions } from './write-options.ts';

const none: WriteOptions = { dryRun: false, fieldManager: '', fieldValidation: 'Warn', force: false };

suite('valid options of a write', () => {
  const table: readonly [kind: OptionsKind, query: string, want: Partial<WriteOptions>][] = [
    ['CreateOptions', '', {}],
    ['CreateOptions', 'dryRun=All', { dryRun: true }],
    ['CreateOptions', 'fieldManager=me&fieldValidation=Strict', { fieldManager: 'me', fieldValidation: 'Strict' }],
    ['UpdateOptions', 'fieldValidation=Ignore', { fieldValidation: 'Ignore' }],
    ['UpdateOptions', 'fieldValidation=', {}],
    ['UpdateOptions', 'force=true', {}],
    ['ApplyOptions', 'fieldManager=me&force=true', { fieldManager: 'me', force: true }],
    ['ApplyOptions', 'fieldManager=me&force=false', { fieldManager: 'me' }],
    ['CreateOptions', `fieldManager=${'a'.repeat(128)}`, { fieldManager: 'a'.repeat(128) }],
  ];
  for (const [kind, query, want] of table) {
    test(`${kind} ?${query.slice(0, 50)}`, () =>
      assert.deepEqual(parseWriteOptions(new URLSearchParams(query), kind), { ...none, ...want }));
  }
});

suite('rejected options of a write', () => {
  const table: readonly [kind: OptionsKind, query: string, message: string][] = [
    [
      'CreateOptions',
      'dryRun=a&dryRun=b',
      'CreateOptions… dryRun: Unsupported value: ["a","b"]: supported values: "All"',
    ],
    ['UpdateOptions', 'dryRun=', 'UpdateOptions… dryRun: Unsupported value: [""]: supported values: "All"'],
    [
      'CreateOptions',
      'fieldValidation=Loose',
      'CreateOptions… fieldValidation: Unsupported value: "Loose": supported values: "", "Ignore", "Strict", "Warn"',
    ],
    [
      'CreateOptions',
      `fieldManager=${'a'.repeat(129)}`,
      'CreateOptions… fieldManager: Too long: may not be more than 128 bytes',
    ],
    [
      'CreateOptions',
      'fieldManager=a%07',
      'CreateOptions… fieldManager: Invalid value: "a\\u0007": invalid character U+0007 (at position 1)',
    ],
    ['ApplyOptions', '', 'PatchOptions… fieldManager: Required value: is required for apply patch'],
    ['PatchOptions', 'force=true', 'PatchOptions… force: Forbidden: may not be specified for non-apply patch'],
  ];
  for (const [kind, query, message] of table) {
    test(`${kind} ?${query.slice(0, 50)}`, () =>
      assert.throws(() => parseWriteOptions(new URLSearchParams(query), kind), {
        message: message.replace('…', '.meta.k8s.io "" is invalid:'),
      }));
  }
});

suite('the manager of a write', () => {
  const table: readonly [fieldManager: string, agent: string | undefined, want: string][] = [
    ['me', 'kubectl/v1.33', 'me'],
    ['', 'kubectl/v1.33 (linux)', 'kubectl'],
    ['', 'curl', 'curl'],
    ['', undefined, 'unknown'],
    ['', '/1', 'unknown'],
    ['', 'a'.repeat(200), 'a'.repeat(128)],
  ];
  for (const [fieldManager, agent, want] of table) {
    test(`"${fieldManager}" ${String(agent).slice(0, 20)}`, () =>
      assert.equal(managerOf({ ...none, fieldManager }, agent), want));
  }
});
