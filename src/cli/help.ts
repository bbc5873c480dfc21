import type { Action, Command } from './command.ts';
import type { CommandEntry } from './commands.ts';
import type { Flag } from './options/flags.ts';
import { columns } from '../api/text.ts';

const width = 100;
/** A flag that is wider has its description on the next line. */
const flagWidth = 30;

const helpFlag: Flag = { name: 'help', short: 'h', value: '', bare: '', description: 'print this help' };

const configFlag: Flag = {
  name: 'config',
  value: 'FILE',
  description: 'YAML file with the flags as keys; flags of the command line take precedence',
};

/** All flags of an action, `--config` among them. */
export const flagsOf = ({ flags, config }: Pick<Action, 'flags' | 'config'>): readonly Flag[] =>
  config === undefined ? flags : [...flags, configFlag];

/** The help of `fairlead` itself. */
export function rootHelp(entries: Readonly<Record<string, CommandEntry>>): string {
  const rows = columns(Object.entries(entries).map(([name, { summary }]) => [name, summary]));
  const groups = Map.groupBy(Object.values(entries).entries(), ([, { group }]) => group);
  return joined([
    'Kubernetes Services on any machine: `fairlead up`, then kubectl.',
    section('Usage', ['fairlead COMMAND [ACTION] [flags]']),
    ...Array.from(groups, ([group, members]) =>
      section(
        group,
        members.map(([index]) => rows[index] ?? ''),
      ),
    ),
    section('Flags', ['-h, --help     print this help', '-v, --version  print the version']),
    section('Examples', [
      'fairlead up                                   # clusters east and west on this machine',
      'export KUBECONFIG=.fairlead/kubeconfig',
      'kubectl create service clusterip web --tcp=80',
    ]),
    'Run `fairlead help COMMAND [ACTION]` for the flags of a command.',
  ]);
}

/** The help of a command; `summary` is the one of the list of commands. */
export function commandHelp(name: string, command: Command, summary: string): string {
  const actions = Object.entries(command.actions ?? {});
  const own = command.run === undefined ? [] : [usageLine(name, command)];
  return joined([
    wrapped(command.description ?? sentence(summary), width).join('\n'),
    section('Usage', [...own, ...(actions.length === 0 ? [] : [`fairlead ${name} ACTION [flags]`])]),
    ...(actions.length === 0
      ? []
      : [
          section(
            'Actions',
            columns(actions.map(([action, { usage = '', summary: text }]) => [`${action} ${usage}`.trim(), text])),
          ),
        ]),
    ...(command.run === undefined ? [] : flagSections(flagsOf(command))),
    ...ending(command),
    ...(actions.length === 0 ? [] : [`Run \`fairlead help ${name} ACTION\` for the flags of an action.`]),
  ]);
}

/** The help of an action; `name` is that of the command and the action. */
export const actionHelp = (name: string, action: Action): string =>
  joined([
    wrapped(action.description ?? sentence(action.summary), width).join('\n'),
    section('Usage', [usageLine(name, action)]),
    ...flagSections(flagsOf(action)),
    ...ending(action),
  ]);

/** How a command or an action is called. */
export const usageLine = (name: string, { usage = '' }: Pick<Action, 'usage'>): string =>
  ['fairlead', name, usage, '[flags]'].filter((word) => word !== '').join(' ');

const ending = ({ notes, examples }: Pick<Action, 'notes' | 'examples'>): readonly string[] => [
  ...(notes === undefined ? [] : [wrapped(notes, width).join('\n')]),
  section('Examples', examples),
];

function flagSections(flags: readonly Flag[]): readonly string[] {
  const groups = Map.groupBy([...flags, helpFlag], ({ group = 'Flags' }) => group);
  return Array.from(groups, ([group, members]) => section(group, members.flatMap(flagLines)));
}

function flagLines(flag: Flag): readonly string[] {
  const { name, short, value, bare } = flag;
  const form = `${short === undefined ? '    ' : `-${short}, `}--${name}${bare === undefined ? ` ${value}` : ''}`;
  const lines = wrapped(describeFlag(flag), width - flagWidth - 4);
  const isWide = form.length > flagWidth;
  const [first = '', ...rest] = isWide ? ['', ...lines] : lines;
  return [`${form.padEnd(flagWidth)}  ${first}`.trimEnd(), ...rest.map((line) => `${' '.repeat(flagWidth)}  ${line}`)];
}

/** The description with the choices and the default, each once. */
export function describeFlag({ description, choices, repeatable, default: fallback }: Flag): string {
  const notes = [
    ...(choices === undefined ? [] : [choices.join(', ')]),
    ...(repeatable ? ['repeatable'] : []),
    ...(fallback === undefined || fallback === 'false' ? [] : [`default ${fallback}`]),
  ];
  return notes.length === 0 ? description : `${description} (${notes.join('; ')})`;
}

const section = (heading: string, lines: readonly string[]): string =>
  [`${heading}:`, ...lines.map((line) => `  ${line}`.trimEnd())].join('\n');

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

const joined = (parts: readonly string[]): string => `${parts.join('\n\n')}\n`;

/** Text in lines of at most `length` characters, broken at spaces; its own line breaks stay. */
function wrapped(text: string, length: number): readonly string[] {
  return text.split('\n').flatMap((paragraph) => {
    const lines: string[] = [];
    let line = '';
    for (const word of paragraph.split(' ')) {
      if (line !== '' && line.length + 1 + word.length > length) {
        lines.push(line);
        line = word;
      } else line = line === '' ? word : `${line} ${word}`;
    }
    return [...lines, line];
  });
}
