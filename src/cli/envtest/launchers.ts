// The launchers that controller-runtime's envtest starts, as shell scripts.

/** How to start this Fairlead. */
export interface Program {
  /** The Node.js executable. */
  readonly node: string;
  /** `bin/fairlead.js`. */
  readonly script: string;
  /** `bin/envtest-etcd.cjs`. */
  readonly etcdScript: string;
  readonly version: string;
}

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

const launcher = (lines: readonly string[]): string =>
  ['#!/bin/sh', '# Written by `fairlead envtest install`.', ...lines, ''].join('\n');

/** Prints a help text without starting Node: envtest reads the help of each program before it starts it. */
const answerHelp = (...lines: readonly string[]): readonly string[] => [
  'for arg in "$@"; do',
  '  case $arg in',
  `    --help | -h) printf '%s\\n' ${lines.map(quoted).join(' ')}; exit 0 ;;`,
  '  esac',
  'done',
];

/** A test creates few objects: a small young generation saves a quarter of the memory. */
const nodeFlags = '--max-semi-space-size=2';

/** File name → content. */
export const launchers = ({ node, script, etcdScript, version }: Program): Readonly<Record<string, string>> => ({
  'kube-apiserver': launcher([
    // envtest looks for --insecure-port here: a kube-apiserver that has it gets other flags.
    ...answerHelp(
      `kube-apiserver of envtest, run by Fairlead ${version}: an API server with its store in memory.`,
      '',
      'Flags: those that envtest passes, such as --cert-dir, --client-ca-file, --secure-port and --service-cluster-ip-range. Others are ignored.',
    ),
    `exec ${quoted(node)} ${nodeFlags} ${quoted(script)} envtest kube-apiserver -- "$@"`,
  ]),
  etcd: launcher([
    // envtest looks for --unsafe-no-fsync here, and passes it to an etcd that has it.
    ...answerHelp(
      `etcd of envtest, run by Fairlead ${version}: it only reports that it is healthy. The API server keeps its objects in memory.`,
    ),
    `exec ${quoted(node)} ${nodeFlags} ${quoted(etcdScript)} "$@"`,
  ]),
  // The kubectl of the machine: the first one in PATH that is not this launcher.
  kubectl: launcher([
    'own=$(cd "$(dirname "$0")" && pwd)',
    'IFS=:',
    'for dir in $PATH; do',
    '  if [ "$dir" != "$own" ] && [ -x "$dir/kubectl" ]; then unset IFS; exec "$dir/kubectl" "$@"; fi',
    'done',
    'echo "kubectl: there is no other kubectl in PATH: install one" >&2',
    'exit 127',
  ]),
});
