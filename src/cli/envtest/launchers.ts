// The launchers that controller-runtime's envtest starts, as shell scripts.

/** How to start this Fairlead. */
export interface Program {
  /** The Node.js executable. */
  readonly node: string;
  /** `bin/fairlead.js`. */
  readonly script: string;
}

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

const launcher = (lines: readonly string[]): string =>
  ['#!/bin/sh', '# Written by `fairlead envtest install`.', ...lines, ''].join('\n');

/** File name → content. */
export const launchers = ({ node, script }: Program): Readonly<Record<string, string>> => ({
  'kube-apiserver': launcher([`exec ${quoted(node)} ${quoted(script)} envtest kube-apiserver -- "$@"`]),
  etcd: launcher([`exec ${quoted(node)} ${quoted(script)} envtest etcd -- "$@"`]),
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
