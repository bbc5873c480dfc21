// The profiles GATEWAY-TCP and GATEWAY-UDP of the Gateway API's conformance suite, with its images as processes. GATEWAY_CONFORMANCE,
// ECHO_BASIC and COREDNS name the programs. GATEWAY_TEST, the name of a test, selects one; without it the results are compared with the page.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

import { run } from '../harness/command.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { NobodysNetwork, whyNotNobody } from '../harness/nobody.ts';
import type { Result } from '../kubernetes/table.ts';
import { checkTable } from '../kubernetes/table.ts';

const { GATEWAY_CONFORMANCE: program = '', ECHO_BASIC: echo = '', COREDNS: coredns = '' } = process.env;
const { GATEWAY_TEST: only = '' } = process.env;
const isNamed = [program, echo, coredns].every((path) => path !== '');
const reasons = isNamed ? whyNotNobody() : ['GATEWAY_CONFORMANCE, ECHO_BASIC and COREDNS do not name programs'];
const skip = reasons.length > 0 && reasons.join();

/** Pods of the suite listen on the same ports, and have their volumes in the root directory. */
const agent = {
  'pod-network': 'netns',
  'pod-cidr': '10.77.0.0/24',
  'image-map': [`registry.k8s.io/gateway-api/echo-basic=${echo}`, `registry.k8s.io/coredns/coredns=${coredns}`],
};

/**
 * The suite waits until all Gateways of its namespaces are programmed, also those whose listeners are all HTTP, HTTPS or TLS. Its own
 * annotation excludes them.
 */
const name = 'gateways-that-are-not-served';
const policy = [
  {
    apiVersion: 'admissionregistration.k8s.io/v1beta1',
    kind: 'MutatingAdmissionPolicy',
    metadata: { name },
    spec: {
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: ['gateway.networking.k8s.io'],
            apiVersions: ['*'],
            operations: ['CREATE', 'UPDATE'],
            resources: ['gateways'],
          },
        ],
      },
      matchConditions: [
        { name: 'no-listener', expression: `object.spec.listeners.all(each, !(each.protocol in ['TCP', 'UDP']))` },
      ],
      reinvocationPolicy: 'Never',
      mutations: [
        {
          patchType: 'ApplyConfiguration',
          applyConfiguration: {
            expression: `Object{metadata: Object.metadata{annotations: {'gateway-api/skip-this-for-readiness': 'true'}}}`,
          },
        },
      ],
    },
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1beta1',
    kind: 'MutatingAdmissionPolicyBinding',
    metadata: { name },
    spec: { policyName: name },
  },
];

/** Tests of all profiles whose Gateways have HTTP and HTTPS listeners. Each waits minutes until it fails. */
const skipped = [
  'GatewayInvalidRouteKind',
  'GatewayInvalidTLSConfiguration',
  'GatewayListenerUnsupportedProtocol',
  'GatewayModifyListeners',
  'GatewayObservedGenerationBump',
  'GatewaySecretInvalidReferenceGrant',
  'GatewaySecretMissingReferenceGrant',
  'GatewaySecretReferenceGrantAllInNamespace',
  'GatewaySecretReferenceGrantSpecific',
];

const flags = [
  '-test.v',
  '-test.run=^TestConformance$',
  '-gateway-class=fairlead',
  '-conformance-profiles=GATEWAY-TCP,GATEWAY-UDP',
  '-supported-features=Gateway,ReferenceGrant,TCPRoute,UDPRoute',
  // The server has the kinds without definitions, which would contain their version.
  '-allow-crds-mismatch',
  '-cleanup-base-resources=false',
  `-skip-tests=${skipped.join()}`,
];

test('the profiles for TCP and UDP of the Gateway API have the results of the page', { skip }, async () => {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(await temporaryDirectory());
  const { within } = stack.use(new NobodysNetwork({ asRoot: true }));
  const [config, manifests] = [join(path, 'up.json'), join(path, 'policy.json')];
  await writeFile(config, JSON.stringify({ agent }));
  await writeFile(manifests, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: policy }));
  const gates = ['--feature-gates', 'MutatingAdmissionPolicy=true', '--apply', manifests];
  const up = ['up', '--cluster', 'east', '--store', 'memory', '--config', config, ...gates];
  const { kubeconfig } = stack.use(await startFairlead(join(path, 'data'), up, { within }));

  const [file, ...prefix] = within;
  const args = [...prefix, program, ...flags, ...(only === '' ? [] : [`-run-test=${only}`])];
  const { out, err } = await run(file, args, { env: { KUBECONFIG: kubeconfig }, cwd: path, timeoutMs: 25 * 60_000 });
  const results = resultsIn(out);
  assert.notEqual(results.length, 0, out + err);
  for (const each of results) console.log(`${each.result} ${each.name}`);
  if (results.some(({ result }) => result !== 'passes')) console.log(out);
  if (only === '') await checkTable('gateway', results);
});

/** The tests that ran. Those of other features skip themselves. */
const resultsIn = (out: string): readonly Result[] =>
  [...out.matchAll(/^ {4}--- (PASS|FAIL): TestConformance\/(\w+) /gm)]
    .map(([, result, title = '']) => ({ name: title, result: result === 'PASS' ? 'passes' : 'fails' }))
    .toSorted((left, right) => (left.name < right.name ? -1 : 1));
