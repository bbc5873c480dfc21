import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { commands } from './commands.ts';
import { allFlags } from './run.ts';

const root = join(import.meta.dirname, '..', '..');

/** Program → its flags that messages and documentation name. */
const ofOthers: Readonly<Record<string, string>> = {
  fairlead: '--flag --help',
  etcd: '--max-request-bytes',
  ExternalDNS:
    '--txt-owner-id --rfc2136-host --rfc2136-port --rfc2136-zone --rfc2136-tsig-keyname --rfc2136-tsig-secret --rfc2136-tsig-secret-alg --rfc2136-min-ttl --min-ttl --zone-id-filter --events --min-event-sync-interval',
  'kube-apiserver': '--enable-aggregator-routing --admission-control-config-file --runtime-config',
  kubectl: '--audience --bound-object-kind --bound-object-name --duration',
  Helm: '--create-namespace --set --wait',
  'bench/run.ts': '--write',
};

test('messages and documentation name only flags that exist', async () => {
  const known = new Set(Object.values(ofOthers).flatMap((flags) => flags.split(' ')));
  for (const { load } of Object.values(commands)) for (const { name } of allFlags(await load())) known.add(`--${name}`);
  const unknown = (pattern: string, place: RegExp): readonly string[] =>
    globSync(pattern, { cwd: root, exclude: ['**/*.test.ts'] }).flatMap((path) =>
      (readFileSync(join(root, path), 'utf8').match(place) ?? [])
        .flatMap((text) => text.match(/(?<![\w-])--[a-z][a-z\d-]*/g) ?? [])
        .filter((name) => !known.has(name))
        .map((name) => `${path}: ${name}`),
    );
  assert.deepEqual(
    [
      ...unknown('src/**/*.ts', /\b(?:pass|raise|set|or|to|with) --[a-z][a-z\d-]*/g),
      ...unknown('{README.md,{docs,src}/**/*.md}', /(?:`--|\bfairlead [^`\n]*--)[^`\n]*/g),
    ],
    [],
  );
});
