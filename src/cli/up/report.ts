import { styleText } from 'node:util';
import { columns, printTime } from '../output.ts';
import type { State } from './state.ts';

export interface ReportOptions {
  readonly version: string;
  readonly kubeconfig: string;
  readonly readyMs: number;
  /** Bold where it helps the eye; a pipe gets plain lines. */
  readonly colour: boolean;
}

/** What a person sees when everything is ready: where each thing is, and how long it took. */
export function readyReport(state: State, { version, kubeconfig, readyMs, colour }: ReportOptions): string {
  const rows = state.clusters.map(({ name, server, dns, serviceCIDRs }) => [
    name,
    server,
    ...(dns === undefined ? [] : [`dns ${dns.address}:${dns.port}`]),
    `services ${serviceCIDRs.join(',')}`,
  ]);
  const strong = (text: string): string => (colour ? styleText('bold', text, { validateStream: false }) : text);
  return [
    strong(`fairlead ${version} ready in ${printTime(readyMs)}`),
    ...columns(rows).map((line) => `  ${line}`),
    ...state.clusters.flatMap(({ name, parts }) =>
      parts.flatMap((part) => part.problems.map((problem) => `  ${part.name} of ${name} is not ready: ${problem}`)),
    ),
    ...(state.dashboard === undefined ? [] : [`  dashboard  ${state.dashboard}`]),
    `  export KUBECONFIG=${inShell(kubeconfig)}`,
    '',
  ].join('\n');
}

/** A path as a shell reads it back. */
const inShell = (path: string): string =>
  /^[\w./@%+:,-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
