import assert from 'node:assert/strict';
import { test } from 'node:test';

import { initFamilies } from './families.ts';
import type { IpFamily, Service, ServiceSpec } from './schema.ts';

const serviceWith = (spec: ServiceSpec): Service => ({
  metadata: { name: 'web', namespace: 'shop' },
  spec,
  status: { loadBalancer: {} },
});

const v4: readonly IpFamily[] = ['IPv4'];
const v6: readonly IpFamily[] = ['IPv6'];
const v4v6: readonly IpFamily[] = ['IPv4', 'IPv6'];
const v6v4: readonly IpFamily[] = ['IPv6', 'IPv4'];

interface Given {
  readonly families: readonly IpFamily[];
  readonly given: ServiceSpec;
  readonly old?: ServiceSpec;
}

/** The resulting policy and families, or the errors as `path: text`. */
function settle({ families, given, old }: Given): readonly unknown[] {
  const result = initFamilies({
    service: serviceWith({ type: 'ClusterIP', ...given }),
    old: old && serviceWith({ type: 'ClusterIP', ...old }),
    cluster: { families },
    context: { gates: { enabled: () => false }, loopbackEndpoints: [] },
  });
  if (!result.ok) return result.errors.map(({ path, body }) => `${path}: ${body}`);
  const { ipFamilyPolicy, ipFamilies, clusterIPs } = result.service.spec;
  return clusterIPs === undefined ? [ipFamilyPolicy, ipFamilies] : [ipFamilyPolicy, ipFamilies, clusterIPs];
}

const selector = { app: 'web' };
const single = 'SingleStack';
const prefer = 'PreferDualStack';
const require = 'RequireDualStack';
const notDual = `spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services`;
const manyFamilies = `spec.ipFamilyPolicy: Invalid value: "SingleStack": must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified`;
const manyAddresses = `spec.ipFamilyPolicy: Invalid value: "SingleStack": must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified`;

const created: readonly (Given & { readonly name: string; readonly want: readonly unknown[] })[] = [
  { name: 'v4: no families or policy', families: v4, given: {}, want: [single, v4] },
  { name: 'v4: Prefer', families: v4, given: { ipFamilyPolicy: prefer }, want: [prefer, v4] },
  { name: 'v4: Require', families: v4, given: { ipFamilyPolicy: require }, want: [notDual] },
  { name: 'v4+v6: no families or policy', families: v4v6, given: {}, want: [single, v4] },
  { name: 'v4+v6: IPv6', families: v4v6, given: { ipFamilies: v6 }, want: [single, v6] },
  { name: 'v4+v6: both families, no policy', families: v4v6, given: { ipFamilies: v4v6 }, want: [manyFamilies] },
  { name: 'v4+v6: Prefer', families: v4v6, given: { ipFamilyPolicy: prefer }, want: [prefer, v4v6] },
  { name: 'v4+v6: Require', families: v4v6, given: { ipFamilyPolicy: require }, want: [require, v4v6] },
  {
    name: 'v4+v6: Prefer, IPv6',
    families: v4v6,
    given: { ipFamilyPolicy: prefer, ipFamilies: v6 },
    want: [prefer, v6v4],
  },
  {
    name: 'v4+v6: Require, IPv6',
    families: v4v6,
    given: { ipFamilyPolicy: require, ipFamilies: v6 },
    want: [require, v6v4],
  },
  { name: 'v6+v4: no families or policy', families: v6v4, given: {}, want: [single, v6] },
  {
    name: 'v4: headless without selector',
    families: v4,
    given: { clusterIP: 'None', clusterIPs: ['None'] },
    want: [require, v4v6, ['None']],
  },
  {
    name: 'v6+v4: headless without selector, selector empty',
    families: v6v4,
    given: { clusterIP: 'None', clusterIPs: ['None'], selector: {} },
    want: [require, v6v4, ['None']],
  },
  {
    name: 'v4: headless without selector, SingleStack',
    families: v4,
    given: { clusterIP: 'None', clusterIPs: ['None'], ipFamilyPolicy: single },
    want: [single, v4, ['None']],
  },
  {
    name: 'v4: headless without selector, of the other family',
    families: v4,
    given: { clusterIP: 'None', clusterIPs: ['None'], ipFamilyPolicy: single, ipFamilies: v6 },
    want: [single, v6, ['None']],
  },
  {
    name: 'v4: headless with selector',
    families: v4,
    given: { clusterIP: 'None', clusterIPs: ['None'], selector },
    want: [single, v4, ['None']],
  },
  {
    name: 'v4+v6: headless with selector',
    families: v4v6,
    given: { clusterIP: 'None', clusterIPs: ['None'], selector },
    want: [single, v4, ['None']],
  },
  {
    name: 'v4: headless with selector, Require',
    families: v4,
    given: { clusterIP: 'None', clusterIPs: ['None'], selector, ipFamilyPolicy: require },
    want: [notDual],
  },
  {
    name: 'v4: IPv6',
    families: v4,
    given: { ipFamilies: v6 },
    want: ['spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster'],
  },
  {
    name: 'v4: Require, both families',
    families: v4,
    given: { ipFamilyPolicy: require, ipFamilies: v6v4 },
    want: [notDual, 'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster'],
  },
  {
    name: 'v4+v6: an IPv6 address decides the family',
    families: v4v6,
    given: { clusterIP: 'fd00::9', clusterIPs: ['fd00::9'] },
    want: [single, v6, ['fd00::9']],
  },
  {
    name: 'v4+v6: Prefer and an IPv6 address',
    families: v4v6,
    given: { clusterIP: 'fd00::9', clusterIPs: ['fd00::9'], ipFamilyPolicy: prefer },
    want: [prefer, v6v4, ['fd00::9']],
  },
  {
    name: 'v4: an IPv6 address',
    families: v4,
    given: { clusterIP: 'fd00::9', clusterIPs: ['fd00::9'] },
    want: ['spec.clusterIPs[0]: Invalid value: ["fd00::9"]: IPv6 is not configured on this cluster'],
  },
  {
    name: 'v4+v6: two addresses, no policy',
    families: v4v6,
    given: { clusterIP: '10.0.0.9', clusterIPs: ['10.0.0.9', 'fd00::9'] },
    want: [manyAddresses],
  },
  {
    name: 'v4+v6: two addresses and two families, no policy',
    families: v4v6,
    given: { clusterIP: '10.0.0.9', clusterIPs: ['10.0.0.9', 'fd00::9'], ipFamilies: v4v6 },
    want: [manyAddresses, manyFamilies],
  },
  {
    name: 'v4+v6: two addresses, Require',
    families: v4v6,
    given: { clusterIP: 'fd00::9', clusterIPs: ['fd00::9', '10.0.0.9'], ipFamilyPolicy: require },
    want: [require, v6v4, ['fd00::9', '10.0.0.9']],
  },
  {
    name: 'v4: two addresses, Prefer',
    families: v4,
    given: { clusterIP: '10.0.0.9', clusterIPs: ['10.0.0.9', 'fd00::9'], ipFamilyPolicy: prefer },
    want: ['spec.clusterIPs[1]: Invalid value: ["10.0.0.9","fd00::9"]: IPv6 is not configured on this cluster'],
  },
  {
    name: 'v4: a list without clusterIP is rejected first',
    families: v4,
    given: { clusterIPs: ['10.0.0.9'], ipFamilyPolicy: require },
    want: ['spec.clusterIPs: Invalid value: ["10.0.0.9"]: must be empty when `clusterIP` is not specified'],
  },
  {
    name: 'v4: a malformed address is rejected before families are compared',
    families: v4,
    given: { clusterIP: 'none', clusterIPs: ['none'], ipFamilyPolicy: require },
    want: ['spec.clusterIPs[0]: Invalid value: "none": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
  },
  { name: 'ExternalName', families: v4v6, given: { type: 'ExternalName' }, want: [undefined, undefined] },
];

for (const { name, want, ...given } of created) {
  test(`families of a new Service, ${name}`, () => {
    assert.deepEqual(settle(given), want);
  });
}

const singleOld: ServiceSpec = {
  clusterIP: '10.0.0.1',
  clusterIPs: ['10.0.0.1'],
  ipFamilyPolicy: single,
  ipFamilies: v4,
};
const dualOld: ServiceSpec = {
  clusterIP: '10.0.0.1',
  clusterIPs: ['10.0.0.1', 'fd00::1'],
  ipFamilyPolicy: require,
  ipFamilies: v4v6,
};
const preferOld: ServiceSpec = { ...singleOld, ipFamilyPolicy: prefer };
const releaseAddress = (policy: string): string =>
  `spec.ipFamilyPolicy: Invalid value: "${policy}": must be 'SingleStack' to release the secondary cluster IP`;
const releaseFamily = (policy: string): string =>
  `spec.ipFamilyPolicy: Invalid value: "${policy}": must be 'SingleStack' to release the secondary IP family`;

const updated: typeof created = [
  {
    name: 'single to dual: Prefer',
    families: v4v6,
    old: singleOld,
    given: { ...singleOld, ipFamilyPolicy: prefer },
    want: [prefer, v4v6, ['10.0.0.1']],
  },
  {
    name: 'single to dual: Require, with the secondary address',
    families: v4v6,
    old: singleOld,
    given: { ...singleOld, ipFamilyPolicy: require, clusterIPs: ['10.0.0.1', 'fd00::7'] },
    want: [require, v4v6, ['10.0.0.1', 'fd00::7']],
  },
  {
    name: 'single to dual without the policy',
    families: v4v6,
    old: singleOld,
    given: { ...singleOld, ipFamilies: v4v6 },
    want: [manyFamilies],
  },
  {
    name: 'dual to single: unchanged lists',
    families: v4v6,
    old: dualOld,
    given: { ...dualOld, ipFamilyPolicy: single },
    want: [single, v4, ['10.0.0.1']],
  },
  {
    name: 'dual to single: reduced lists',
    families: v4v6,
    old: dualOld,
    given: { ...singleOld, ipFamilyPolicy: single },
    want: [single, v4, ['10.0.0.1']],
  },
  {
    name: 'dual to single: only the addresses reduced',
    families: v4v6,
    old: dualOld,
    given: { ...dualOld, clusterIPs: ['10.0.0.1'], ipFamilyPolicy: single },
    want: [single, v4, ['10.0.0.1']],
  },
  {
    name: 'dual to single: reduced lists without the policy',
    families: v4v6,
    old: dualOld,
    given: { ...dualOld, clusterIPs: ['10.0.0.1'], ipFamilies: v4 },
    want: [releaseAddress(require), releaseFamily(require)],
  },
  {
    name: 'dual: reduced families, Prefer',
    families: v4v6,
    old: dualOld,
    given: { ...dualOld, ipFamilies: v4, ipFamilyPolicy: prefer },
    want: [releaseFamily(prefer)],
  },
  {
    name: 'an unset policy is copied from the stored object',
    families: v4v6,
    old: dualOld,
    given: { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', 'fd00::1'] },
    want: [require, v4v6, ['10.0.0.1', 'fd00::1']],
  },
  {
    name: 'Prefer is not upgraded when the cluster gains a family',
    families: v4v6,
    old: preferOld,
    given: preferOld,
    want: [prefer, v4, ['10.0.0.1']],
  },
  {
    name: 'Prefer is not downgraded when the cluster loses a family',
    families: v4,
    old: { ...dualOld, ipFamilyPolicy: prefer },
    given: { ...dualOld, ipFamilyPolicy: prefer },
    want: [prefer, v4v6, ['10.0.0.1', 'fd00::1']],
  },
  {
    name: 'Prefer is upgraded when families are requested',
    families: v4v6,
    old: preferOld,
    given: { ...preferOld, ipFamilies: v4v6 },
    want: [prefer, v4v6, ['10.0.0.1']],
  },
  {
    name: 'Prefer is upgraded when the type changes',
    families: v4v6,
    old: preferOld,
    given: { ...preferOld, type: 'NodePort' },
    want: [prefer, v4v6, ['10.0.0.1']],
  },
  {
    name: 'headless: families and policy are mutable',
    families: v4,
    old: { clusterIP: 'None', clusterIPs: ['None'], ipFamilyPolicy: single, ipFamilies: v4 },
    given: { clusterIP: 'None', clusterIPs: ['None'], ipFamilyPolicy: require, ipFamilies: v6 },
    want: [require, v6v4, ['None']],
  },
  {
    name: 'from ExternalName',
    families: v4v6,
    old: { type: 'ExternalName' },
    given: {},
    want: [single, v4],
  },
  {
    name: 'to ExternalName',
    families: v4v6,
    old: singleOld,
    given: { type: 'ExternalName' },
    want: [undefined, undefined],
  },
];

for (const { name, want, ...given } of updated) {
  test(`families of a changed Service, ${name}`, () => {
    assert.deepEqual(settle(given), want);
  });
}
