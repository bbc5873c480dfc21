import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Action } from './command.ts';
import { commands } from './commands.ts';
import { parseArguments } from './options/arguments.ts';
import { allFlags, run } from './run.ts';

/** Runs a command line and returns its exit code and output. */
async function capture(args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const printed = { out: '', err: '' };
  const code = await run(args, {
    out: (text) => (printed.out += text),
    err: (text) => (printed.err += text),
  });
  return { code, ...printed };
}

const usage: readonly (readonly [args: string, want: string])[] = [
  ['upp', 'fairlead: unknown command "upp": did you mean `fairlead up`?\n'],
  ['why', 'fairlead: unknown command "why": did you mean `fairlead mcs why`?\n'],
  ['frobnicate', 'fairlead: unknown command "frobnicate": see `fairlead --help`\n'],
  ['up --clustr a', 'fairlead: unknown flag --clustr: did you mean --cluster?\n'],
  ['lb plan --zzz', 'fairlead: unknown flag --zzz: see `fairlead help lb`\n'],
  [
    'mcs',
    'fairlead: missing action of mcs: expected join, leave, drain, undrain, import-members, list, status, plan, explain, why: see `fairlead help mcs`\n',
  ],
  ['mcs status --from east', 'fairlead: --from is a flag of `fairlead mcs why`, not of `fairlead mcs status`\n'],
  [
    'up --deny-export-namespaces default',
    'fairlead: unknown flag --deny-export-namespaces: it is a flag of `fairlead multicluster`; `fairlead up` reads it ' +
      'under "multicluster:" in the file of --config\n',
  ],
  ['dns query', 'fairlead: missing NAME: expected `fairlead dns query NAME [TYPE]`\n'],
  ['dns query a A b', 'fairlead: unexpected argument "b": expected `fairlead dns query NAME [TYPE]`\n'],
  [
    'dns quer a',
    'fairlead: unknown action "quer" of dns: expected query, import-corefile: did you mean `fairlead dns query`?\n',
  ],
  ['help dns quer', 'fairlead: `fairlead dns` has no action "quer": see `fairlead help dns`\n'],
  ['--zzz', 'fairlead: unknown flag --zzz: see `fairlead --help`\n'],
  ['up --cluster', 'fairlead: flag needs an argument: --cluster NAME\n'],
  ['up --store disk', 'fairlead: invalid argument "disk" for "--store" flag: expected sqlite, memory or etcd\n'],
  ['version extra', 'fairlead: unexpected argument "extra": expected `fairlead version`\n'],
  ['completion tcsh', 'fairlead: unknown shell "tcsh": expected bash, zsh or fish\n'],
  ['gates --feature-gates A', 'fairlead: invalid argument "A" for "--feature-gates" flag: missing bool value for A\n'],
  [
    'up --config /nowhere/fairlead.yaml',
    'fairlead: cannot read --config /nowhere/fairlead.yaml: no such file or directory\n',
  ],
  [
    'server --bind-address here',
    'fairlead: invalid argument "here" for "--bind-address" flag: expected an IP address, such as 0.0.0.0\n',
  ],
  [
    'server --advertise-address ::',
    'fairlead: invalid argument "::" for "--advertise-address" flag: clients cannot connect to it: expected one address\n',
  ],
  [
    'controllers --kubeconfig /nowhere/config',
    'fairlead: there is no kubeconfig at /nowhere/config: pass --kubeconfig FILE\n',
  ],
  [
    'controllers --controllers *,-deployment',
    'fairlead: invalid argument "*,-deployment" for "--controllers" flag: there is no controller "-deployment": choose from ' +
      'endpoints-controller, endpointslice-controller, endpointslice-mirroring-controller, node-lifecycle-controller, taint-eviction-controller, ' +
      'garbage-collector-controller, deployment-controller, replicaset-controller, replicationcontroller-controller, statefulset-controller, daemonset-controller, job-controller, cronjob-controller, ttl-after-finished-controller, pod-garbage-collector-controller, disruption-controller, stored-kinds-controller, scheduler, workloads or *\n',
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
    'fairlead: invalid argument "1001" for "--max-endpoints-per-slice" flag: expected a whole number from 1 to 1000\n',
  ],
  [
    'controllers --health-port 99999',
    'fairlead: invalid argument "99999" for "--health-port" flag: expected a port from 0 to 65535\n',
  ],
];
for (const [args, want] of usage) {
  test(`fairlead ${args}: one line, exit 2`, async () => {
    assert.deepEqual(await capture(args.split(' ')), { code: 2, out: '', err: want });
  });
}

test('an action that reads a cluster names the server that does not answer', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-run-'));
  const path = join(folder, 'config');
  try {
    await writeFile(
      path,
      `{ current-context: a, contexts: [{ name: a, context: { cluster: a, user: a } }], users: [{ name: a, user: {} }],
         clusters: [{ name: a, cluster: { server: 'https://127.0.0.1:1' } }] }`,
    );
    for (const action of ['dns query a', 'proxy routes', 'publisher plan --zone example.org --server 127.0.0.1']) {
      const { code, err } = await capture([...action.split(' '), '--kubeconfig', path]);
      assert.equal(code, 1, action);
      assert.match(
        err,
        /\nfairlead: requests to the API server https:\/\/127\.0\.0\.1:1 fail: .*ECONNREFUSED.*\n$/,
        action,
      );
    }
    assert.deepEqual(await capture(['status', '--kubeconfig', folder]), {
      code: 2,
      out: '',
      err: `fairlead: cannot read ${folder}: it is a directory\n`,
    });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('help of every command and action ends with examples, and prints every default once', async () => {
  for (const [name, { summary, load }] of Object.entries(commands)) {
    const command = await load();
    const entries: (readonly [string, string, string, Pick<Action, 'flags' | 'config' | 'examples'>])[] = [
      [name, summary, (await capture(['help', name])).out, command],
    ];
    for (const [action, each] of Object.entries(command.actions ?? {})) {
      const { out } = await capture([name, action, '--help']);
      assert.equal(out, (await capture(['help', name, action])).out);
      entries.push([`${name} ${action}`, each.summary, out, each]);
    }
    for (const [path, phrase, out, { flags, examples }] of entries) {
      assert.match(phrase, /^[a-z][^\n]*[^.\n]$/, `${path}: the summary is a phrase without a full stop`);
      assert.match(out, /\n\nExamples:\n {2}\S/, path);
      assert.ok(
        out.split('\n').every((line) => line.length <= 100),
        `${path}: a line is too long`,
      );
      assert.equal(new Set(flags.map((flag) => flag.name)).size, flags.length, `${path}: a flag twice`);
      for (const { name: flag, description, choices = [] } of flags) {
        assert.doesNotMatch(description, /\bdefault\b|\.$/, `${path} --${flag}`);
        assert.ok(!choices.some((choice) => description.includes(`${choice}, `)), `${path} --${flag}: choices twice`);
      }
      for (const example of examples) {
        const [, words = ''] = /^fairlead (.*?)(?: *#.*| && .*| > .*| \| .*)?$/.exec(example) ?? [];
        const [first = '', ...args] = words.split(/ +/).map((word) => word.replaceAll("'", ''));
        if (first !== '') parseArguments(args, allFlags(await (commands[first] ?? { load }).load()));
      }
    }
  }
});

test('fairlead, --help, -h and help print the same', async () => {
  const { code, out, err } = await capture([]);
  assert.deepEqual({ code, err }, { code: 0, err: '' });
  assert.match(out, /^ {2}completion {4}print the completion script of a shell$/m);
  for (const args of [['--help'], ['-h'], ['help']]) assert.equal((await capture(args)).out, out);
});

test('version and gates have output for people and for programs', async () => {
  assert.match((await capture(['version'])).out, /^fairlead \d+\.\d+\.\d+ \(Kubernetes v1\.\d+\.\d+, Node v\d+/);
  for (const flag of ['--version', '-v']) assert.deepEqual(await capture([flag]), await capture(['version']));
  const { out } = await capture(['gates', '-o', 'json', '--feature-gates', 'SRVServiceName=false']);
  const rows = JSON.parse(out) as { name: string; enabled: boolean }[];
  assert.equal(rows.find(({ name }) => name === 'SRVServiceName')?.enabled, false);
  assert.match((await capture(['gates', '-o', 'yaml'])).out, /- name: LoadBalancerIPMode/);
});
