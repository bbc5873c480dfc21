// Generates the page of all commands and flags from the definitions that help uses.
import type { Action } from '../../src/cli/command.ts';
import { commands } from '../../src/cli/commands.ts';
import { describeFlag, flagsOf, usageLine } from '../../src/cli/help.ts';
import type { Flag } from '../../src/cli/options/flags.ts';

/** A command or an action of one. */
interface Entry extends Pick<Action, 'usage' | 'flags' | 'config' | 'notes'> {
  readonly path: string;
  readonly text: string;
}

/** docs/reference/flags.md */
export async function flagsPage(): Promise<string> {
  const entries = await allEntries();
  const shared = sharedGroups(entries);
  return `${[
    `# Commands and flags

This page lists all commands and actions of \`fairlead\` with their flags. It is for people who write scripts, unit files and
configuration files; \`fairlead help COMMAND\` prints the same with examples. It is generated from the code: \`npm run docs\`.

Flags have the names of Kubernetes' programs where those have the option. \`--flag VALUE\` and \`--flag=VALUE\` are the same. A flag
without a value in this page is \`true\` when it is given, and \`--flag=false\` switches it off. A repeatable flag is a list in the
file of \`--config\`. Durations are written as \`500ms\`, \`10s\` or \`1m30s\`. An unknown flag, an invalid value or a missing file
exits with 2, any other failure with 1.`,
    ...entries.map((entry) => section(entry, shared)),
    `## Flags of several commands

${Array.from(shared, (group) => `### ${group}\n${sharedTable(group, entries)}`).join('\n\n')}`,
  ].join('\n\n')}\n`;
}

async function allEntries(): Promise<readonly Entry[]> {
  const loaded = Object.entries(commands).map(async ([name, { summary, load }]) => {
    const command = await load();
    const own = { ...command, path: name, text: command.description ?? sentence(summary) };
    const actions = Object.entries(command.actions ?? {}).map(([action, each]) => ({
      ...each,
      path: `${name} ${action}`,
      text: each.description ?? sentence(each.summary),
    }));
    return command.run === undefined ? actions : [own, ...actions];
  });
  return (await Promise.all(loaded)).flat();
}

/** Headings of help that several commands have. */
function sharedGroups(entries: readonly Entry[]): ReadonlySet<string> {
  const counts = new Map<string, number>();
  for (const { flags } of entries) {
    for (const group of new Set(flags.map((flag) => flag.group))) {
      if (group !== undefined) counts.set(group, (counts.get(group) ?? 0) + 1);
    }
  }
  return new Set(Array.from(counts).flatMap(([group, count]) => (count > 1 ? [group] : [])));
}

function section({ path, text, usage = '', notes, ...action }: Entry, shared: ReadonlySet<string>): string {
  const flags = flagsOf(action);
  const own = flags.filter(({ group }) => group === undefined || !shared.has(group));
  const others = Array.from(shared).filter((group) => flags.some((flag) => flag.group === group));
  return [
    `## fairlead ${path}`,
    paragraphs(text),
    `Usage: \`${usageLine(path, { usage })}\``,
    ...(own.length === 0 ? [] : [table(own.map((flag) => [flag, flag.default]))]),
    ...(others.length === 0 ? [] : [`It also has the flags of ${listed(others.map(link))}.`]),
    ...(notes === undefined ? [] : [paragraphs(notes)]),
  ].join('\n\n');
}

/** The flags of a group, each once; a different default is listed with its commands. */
function sharedTable(group: string, entries: readonly Entry[]): string {
  const flags = new Map<string, Flag>();
  const defaults = new Map<string, Map<string, string[]>>();
  for (const { path, flags: all } of entries) {
    for (const flag of all.filter((each) => each.group === group)) {
      flags.set(flag.name, flag);
      const byValue = defaults.get(flag.name) ?? new Map<string, string[]>();
      defaults.set(flag.name, byValue);
      const value = flag.default ?? '';
      byValue.set(value, [...(byValue.get(value) ?? []), path]);
    }
  }
  return table(Array.from(flags, ([name, flag]) => [flag, defaultText(defaults.get(name) ?? new Map())]));
}

function defaultText(byValue: ReadonlyMap<string, readonly string[]>): string | undefined {
  const values = Array.from(byValue);
  if (values.length <= 1) return values[0]?.[0];
  return values.map(([value, paths]) => `${value === '' ? 'none' : value} (${paths.join(', ')})`).join(', ');
}

function table(rows: readonly (readonly [Flag, string | undefined])[]): string {
  const lines = rows.map(([flag, fallback = '']) => {
    const { default: _, ...described } = flag;
    const shown = fallback === 'false' ? '' : fallback;
    return `| ${form(flag)} | ${cell(shown)} | ${cell(describeFlag(described))} |`;
  });
  return ['| flag | default | |', '|---|---|---|', ...lines].join('\n');
}

const form = ({ name, short, value, bare }: Flag): string =>
  `${short === undefined ? '' : `\`-${short}\`, `}\`--${name}${bare === undefined ? ` ${value.replaceAll('|', '\\|')}` : ''}\``;

const paragraphs = (text: string): string => text.replaceAll(/\n+/g, '\n\n');
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('*', '\\*').replaceAll('<', '&lt;');
const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
const link = (group: string): string => `[${group}](#${group.toLowerCase().replaceAll(' ', '-')})`;
const listed = (items: readonly string[]): string =>
  items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`;
