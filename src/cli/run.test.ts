import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from './run.ts';

/** Runs a command line, and gives its exit code and what it printed to each stream. */
async function capture(args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const printed = { out: '', err: '' };
  const code = await run(args, {
    out: (text) => (printed.out += text),
    err: (text) => (printed.err += text),
  });
  return { code, ...printed };
}

const usage: readonly (readonly [args: string, want: string])[] = [
  ['upp', "fairlead: unknown command 'upp' (Did you mean up?)\n"],
  ['up --clustr a', "fairlead: unknown option '--clustr' (Did you mean --cluster?)\n"],
  ['lb plan --zzz', "fairlead: unknown option '--zzz': see `fairlead lb --help`\n"],
  ['mcs', "fairlead: missing required argument 'action': see `fairlead mcs --help`\n"],
  ['--zzz', "fairlead: unknown option '--zzz': see `fairlead --help`\n"],
  ['up --cluster', "fairlead: option '--cluster <NAME>' argument missing\n"],
  ['version extra', "fairlead: too many arguments for 'version'. Expected 0 arguments but got 1: extra.\n"],
  ['gates --feature-gates A', 'fairlead: invalid argument "A" for "--feature-gates" flag: missing bool value for A\n'],
  [
    'up --config /nowhere/fairlead.yaml',
    "fairlead: cannot read --config /nowhere/fairlead.yaml: ENOENT: no such file or directory, open '/nowhere/fairlead.yaml'\n",
  ],
  [
    'server --bind-address here',
    'fairlead: invalid argument "here" for "--bind-address" flag: expected an IP address, such as 0.0.0.0\n',
  ],
  [
    'server --advertise-address ::',
    'fairlead: invalid argument "::" for "--advertise-address" flag: clients cannot connect to it: expected one address\n',
  ],
  ['controllers --kubeconfig /nowhere/config', 'fairlead: there is no kubeconfig at /nowhere/config\n'],
  [
    'controllers --controllers *,-deployment',
    'fairlead: invalid argument "*,-deployment" for "--controllers" flag: there is no controller "-deployment": choose from ' +
      'endpoints-controller, endpointslice-controller, endpointslice-mirroring-controller, garbage-collector-controller, or *\n',
  ],
  [
    'controllers --leader-elect --leader-elect-lease-duration 5s',
    'fairlead: --leader-elect-lease-duration must be longer than --leader-elect-renew-deadline\n',
  ],
  [
    'controllers --leader-elect=perhaps',
    'fairlead: invalid argument "perhaps" for "--leader-elect" flag: strconv.ParseBool: parsing "perhaps": invalid syntax\n',
  ],
  [
    'controllers --max-endpoints-per-slice 1001',
    'fairlead: invalid argument "1001" for "--max-endpoints-per-slice" flag: expected a number from 1 to 1000\n',
  ],
  [
    'controllers --health-port 99999',
    'fairlead: invalid argument "99999" for "--health-port" flag: "99999" is not a port: expected a number from 0 to 65535\n',
  ],
];
for (const [args, want] of usage) {
  test(`fairlead ${args}: one line, exit 2`, async () => {
    assert.deepEqual(await capture(args.split(' ')), { code: 2, out: '', err: want });
  });
}

test('help starts with an example', async () => {
  for (const args of [
    [],
    ['--help'],
    ['up', '--help'],
    ['server', '--help'],
    ['controllers', '--help'],
    ['user', '--help'],
    ['ca', '--help'],
    ['gates', '--help'],
  ]) {
    const { code, out, err } = await capture(args);
    assert.equal(code, 0);
    assert.match(out, /^Example:\n {2}fairlead /, args.join(' '));
    assert.match(out, /\n$/);
    assert.equal(err, '');
  }
});

test('version and gates print for people and for programs', async () => {
  assert.match((await capture(['version'])).out, /^fairlead \d+\.\d+\.\d+ \(Kubernetes v1\.\d+\.\d+, Node v\d+/);
  assert.deepEqual(await capture(['--version']), await capture(['version']));
  const { out } = await capture(['gates', '-o', 'json', '--feature-gates', 'SRVServiceName=false']);
  const rows = JSON.parse(out) as { name: string; enabled: boolean }[];
  assert.equal(rows.find(({ name }) => name === 'SRVServiceName')?.enabled, false);
  assert.match((await capture(['gates', '-o', 'yaml'])).out, /- name: LoadBalancerIPMode/);
});
