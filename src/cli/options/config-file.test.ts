import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseConfig, readConfigFile } from './config-file.ts';
import { dnsFlags } from '../dns/flags.ts';
import { sectionOf } from './flags.ts';
import { upFlags } from '../up/flags.ts';

const good: readonly { name: string; given: string; want: Readonly<Record<string, readonly string[]>> }[] = [
  { name: 'nothing', given: '', want: {} },
  { name: 'comments only', given: '# later\n', want: {} },
  { name: 'a text', given: 'data-dir: /var/lib/x', want: { 'data-dir': ['/var/lib/x'] } },
  { name: 'a number', given: 'port-base: 7000', want: { 'port-base': ['7000'] } },
  { name: 'a list of clusters', given: 'cluster: [a, b]', want: { cluster: ['a', 'b'] } },
  { name: 'one cluster without a list', given: 'cluster: a', want: { cluster: ['a'] } },
  { name: 'a list for a flag with commas', given: 'parts: [server, dns]', want: { parts: ['server,dns'] } },
  {
    name: 'gates as a mapping',
    given: 'feature-gates:\n  AllBeta: false\n  SRVServiceName: true',
    want: { 'feature-gates': ['AllBeta=false,SRVServiceName=true'] },
  },
  { name: 'null as absent', given: 'token-auth-file:', want: {} },
];
for (const { name, given, want } of good) {
  test(`config file: ${name}`, () => assert.deepEqual(Object.fromEntries(parseConfig(given, upFlags)), want));
}

const bad: readonly (readonly [given: string, want: RegExp])[] = [
  ['- a', /^expected a mapping of flags to values$/],
  ['data_dir: x', /^unknown key "data_dir": did you mean "data-dir"\?$/],
  ['clusters: [a]', /^unknown key "clusters": did you mean "cluster"\?$/],
  ['zzz: 1', /^unknown key "zzz": expected one of cluster, /],
  ['cluster: [{a: 1}]', /^key "cluster": expected NAME, found \{"a":1\}$/],
  ['store: memory\n---\nstore: sqlite', /^expected one YAML document, found several$/],
  ['store: [', /./],
];
for (const [given, want] of bad) {
  test(`config file rejects ${JSON.stringify(given)}`, () =>
    assert.throws(() => parseConfig(given, upFlags), { message: want }));
}

test('a config file that is not YAML is one line with the place', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-config-'));
  const file = join(directory, 'f.yaml');
  try {
    await writeFile(file, 'store: memory\ncluster: a: b\n');
    await assert.rejects(readConfigFile(file, upFlags), {
      message: `${file}:2:11: bad indentation of a mapping entry`,
      code: 'USAGE',
    });
  } finally {
    await rm(directory, { recursive: true });
  }
});

const sections = new Map([['dns', dnsFlags]]);

test('config file: a part has its own section', () => {
  const text =
    'cluster: one\ndns:\n  upstream: [192.0.2.1, 192.0.2.2]\n  pods: verified\n  ttl:\n  stub-zone:\n    a.example: 192.0.2.3\n';
  const settings = parseConfig(text, upFlags, sections);
  assert.deepEqual(settings.get('cluster'), ['one']);
  assert.deepEqual(Object.fromEntries(sectionOf(settings, 'dns')), {
    upstream: ['192.0.2.1,192.0.2.2'],
    pods: ['verified'],
    'stub-zone': ['a.example=192.0.2.3'],
  });
  assert.deepEqual(sectionOf(settings, 'proxy'), new Map());
  assert.deepEqual(parseConfig('dns:', upFlags, sections), new Map());
});

const badSections: readonly (readonly [given: string, want: RegExp])[] = [
  ['dns: 1', /^key "dns": expected a mapping, found 1$/],
  ['dns: {upstreams: x}', /^in "dns": unknown key "upstreams": did you mean "upstream"\?$/],
  ['dns: {pods: [[1]]}', /^in "dns": key "pods": expected MODE, found \[1\]$/],
  ['dn: {}', /^unknown key "dn": did you mean "dns"\?$/],
];
for (const [given, want] of badSections) {
  test(`config file rejects ${JSON.stringify(given)}`, () =>
    assert.throws(() => parseConfig(given, upFlags, sections), { message: want }));
}
