import type { Command } from '../command.ts';
import { UsageError } from '../errors.ts';

/** Each script calls `fairlead __complete WORDS…`, which prints one completion per line; without any, the shell completes files. */
const scripts = {
  bash: `# bash completion of fairlead; load it with: source <(fairlead completion bash)
_fairlead() {
  local IFS=$'\\n' line=\${COMP_LINE:0:COMP_POINT} words=() current
  read -ra words -d '' <<< "\${line// /$'\\n'}"
  current=\${COMP_WORDS[COMP_CWORD]}
  [[ $line == *' ' ]] && words+=('')
  COMPREPLY=($("\${words[0]}" __complete "\${words[@]:1}" 2>/dev/null))
  # Bash splits words at "=": it replaces only what is behind it.
  if [[ \${words[-1]} == *=* ]]; then COMPREPLY=("\${COMPREPLY[@]#*=}"); fi
}
complete -o default -F _fairlead fairlead
`,
  zsh: `#compdef fairlead
# zsh completion of fairlead; load it with: source <(fairlead completion zsh)
_fairlead() {
  local -a completions
  completions=(\${(f)"$(\${words[1]} __complete "\${(@)words[2,$CURRENT]}" 2>/dev/null)"})
  if (( \${#completions} )); then compadd -a completions; else _files; fi
}
compdef _fairlead fairlead
`,
  fish: `# fish completion of fairlead; load it with: fairlead completion fish | source
function __fairlead_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l completions ($words[1] __complete $words[2..-1] 2>/dev/null)
  if set -q completions[1]
    printf '%s\\n' $completions
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c fairlead -f -a '(__fairlead_complete)'
`,
} as const;

const shells = ['bash', 'zsh', 'fish'] as const;

export const command: Command = {
  usage: shells.join('|'),
  description: 'Print the completion script of a shell, for commands, actions, flags and their values.',
  examples: [
    'source <(fairlead completion bash)   # in ~/.bashrc',
    'source <(fairlead completion zsh)    # in ~/.zshrc',
    'fairlead completion fish > ~/.config/fish/completions/fairlead.fish',
  ],
  flags: [],
  async run({ args: [shell = ''], streams }) {
    const known = shells.find((each) => each === shell);
    if (known === undefined) throw new UsageError(`unknown shell ${JSON.stringify(shell)}: expected bash, zsh or fish`);
    streams.out(scripts[known]);
    return 0;
  },
};
