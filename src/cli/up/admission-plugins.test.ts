import assert from 'node:assert/strict';
import { test } from 'node:test';

import { pluginNames } from '../../server/admission/plugins.ts';
import { UsageError } from '../errors.ts';
import { readAdmissionPlugins } from './admission-plugins.ts';

const defaults = pluginNames.filter((name) => name !== 'DenyServiceExternalIPs');
const known = pluginNames.join(', ');

const cases: readonly {
  readonly name: string;
  readonly enable?: readonly string[];
  readonly disable?: readonly string[];
  readonly want: readonly string[] | string;
}[] = [
  { name: 'the defaults without flags', want: defaults },
  { name: 'empty lists change nothing', enable: [''], disable: [''], want: defaults },
  {
    name: 'a plugin is enabled in addition, in the order of the plugins',
    enable: ['DenyServiceExternalIPs,ResourceQuota'],
    want: pluginNames,
  },
  {
    name: 'flags can be repeated and values have spaces',
    disable: ['ResourceQuota', ' ValidatingAdmissionWebhook,DefaultIngressClass '],
    want: defaults.filter((name) => !/^(?:ResourceQuota|ValidatingAdmissionWebhook|DefaultIngressClass)$/.test(name)),
  },
  {
    name: 'rejects an unknown plugin',
    enable: ['denyserviceexternalips'],
    want: `enable-admission-plugins plugin "denyserviceexternalips" is unknown: expected ${known}`,
  },
  {
    name: 'rejects to disable an unknown plugin',
    disable: ['PodSecurity'],
    want: `disable-admission-plugins plugin "PodSecurity" is unknown: expected ${known}`,
  },
  {
    name: 'rejects a plugin that is enabled and disabled',
    enable: ['ResourceQuota,DenyServiceExternalIPs'],
    disable: ['ResourceQuota,DenyServiceExternalIPs'],
    want: '[DenyServiceExternalIPs ResourceQuota] in enable-admission-plugins and disable-admission-plugins overlapped',
  },
  {
    name: 'rejects to disable a required plugin',
    disable: ['NamespaceLifecycle'],
    want: 'disable-admission-plugins plugin "NamespaceLifecycle" cannot be disabled in this server',
  },
];

for (const { name, enable, disable, want } of cases) {
  test(name, () => {
    const settings = new Map<string, readonly string[]>();
    if (enable !== undefined) settings.set('enable-admission-plugins', enable);
    if (disable !== undefined) settings.set('disable-admission-plugins', disable);
    const read = (): readonly string[] => [...readAdmissionPlugins(settings)];
    if (typeof want === 'string') assert.throws(read, new UsageError(want));
    else assert.deepEqual(read(), want);
  });
}
