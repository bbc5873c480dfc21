// SRV-9: disables and enables the gate of srvServiceName on one data directory.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { temporaryDirectory } from '../harness/fairlead.ts';
import { unlessInstalled } from '../harness/needs.ts';
import { dig, gist } from './clients.ts';
import { applyFile, startUp } from './stands.ts';

const zone = 'idm.shop.svc.cluster.local';

/** Runs a cluster once and returns the answers of SRV queries. */
async function life(
  directory: string,
  gate: boolean,
  isFirst = false,
): Promise<Readonly<Record<string, readonly string[]>>> {
  await using stand = await startUp({ directory, flags: ['--feature-gates', `SRVServiceName=${gate}`] });
  if (isFirst) await applyFile(stand, 'catalogue.yaml');
  const names = ['_kerberos._tcp', '_kerberos._udp', '_kerberos-tcp._tcp', '_kerberos-udp._udp'];
  const replies = await Promise.all(names.map((name) => dig(stand.dns, `${name}.${zone}`, 'SRV')));
  return Object.fromEntries(
    names.map((name, index) => [name, replies[index] === undefined ? [] : gist(replies[index])]),
  );
}

test(
  'SRV-9 without the gate SRV records use port names; enabled again, they use srvServiceName',
  { skip: unlessInstalled('dig') },
  async () => {
    await using directory = await temporaryDirectory();
    const srv = [`SRV 0 100 88 ${zone}.`];
    const gone = ['NXDOMAIN'];
    const chosen = {
      '_kerberos._tcp': srv,
      '_kerberos._udp': srv,
      '_kerberos-tcp._tcp': gone,
      '_kerberos-udp._udp': gone,
    };
    assert.deepEqual(await life(directory.path, true, true), chosen);
    assert.deepEqual(await life(directory.path, false), {
      '_kerberos._tcp': gone,
      '_kerberos._udp': gone,
      '_kerberos-tcp._tcp': srv,
      '_kerberos-udp._udp': srv,
    });
    assert.deepEqual(await life(directory.path, true), chosen);
  },
);
