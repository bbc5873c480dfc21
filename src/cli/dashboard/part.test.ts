import assert from 'node:assert/strict';
import { test } from 'node:test';

import { gatesWith } from '../../api/gates.ts';
import { part } from './part.ts';

const settings = (flags: Readonly<Record<string, string>>) =>
  new Map(Object.entries(flags).map(([name, value]) => [name, [value]]));

const cluster = { name: 'east', serviceCidrs: [] };
const cases: readonly {
  readonly name: string;
  readonly flags: Readonly<Record<string, string>>;
  readonly want: RegExp | undefined;
}[] = [
  { name: 'no flags', flags: {}, want: undefined },
  { name: 'another loopback address', flags: { listen: '[::1]:9090' }, want: undefined },
  {
    name: 'an address that others can reach, without a certificate',
    flags: { listen: '0.0.0.0:8443' },
    want: /^--listen 0\.0\.0\.0 can be reached by others, .*: pass --tls-cert-file and --tls-private-key-file$/,
  },
  {
    name: 'an address that others can reach, with a certificate',
    flags: { listen: '192.0.2.1:8443', 'tls-cert-file': 'tls.crt', 'tls-private-key-file': 'tls.key' },
    want: undefined,
  },
  {
    name: 'a certificate without its key',
    flags: { 'tls-cert-file': 'tls.crt' },
    want: /^--tls-cert-file and --tls-private-key-file require each other$/,
  },
];
for (const { name, flags, want } of cases) {
  test(`the dashboard ${want === undefined ? 'accepts' : 'rejects'} ${name}`, () => {
    const read = () => part.inUp({ ...cluster, gates: gatesWith({}), settings: settings(flags) });
    if (want === undefined) assert.doesNotThrow(read);
    else assert.throws(read, { message: want });
  });
}
