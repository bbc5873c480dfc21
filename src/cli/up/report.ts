import { styleText } from 'node:util';
import { columns } from '../../api/text.ts';
import { printTime } from '../output.ts';
import type { State } from './state.ts';

export interface ReportOptions {
  readonly version: string;
  readonly kubeconfig: string;
  readonly readyMs: number;
  /** Whether the output may be styled. */
  readonly hasColors: boolean;
}

/** The report at readiness: the addresses of each cluster, and the duration of the start. */
export function readyReport(state: State, { version, kubeconfig, readyMs, hasColors }: ReportOptions): string {
  const hasDns = state.clusters.some(({ dns }) => dns !== undefined);
  const rows = state.clusters.map(({ name, server, dns, serviceCIDRs }) => [
    name,
    server,
    ...(hasDns ? [dns === undefined ? '' : `dns ${dns.address}:${dns.port}`] : []),
    `services ${serviceCIDRs.join(',')}`,
  ]);
  const strong = (text: string): string => (hasColors ? styleText('bold', text, { validateStream: false }) : text);
  return [
    strong(`fairlead ${version} ready in ${printTime(readyMs)}`),
    ...columns(rows, '  '),
    ...state.clusters.flatMap(({ name, parts }) =>
      parts.flatMap((part) => part.problems.map((problem) => `  ${part.name} of ${name} is not ready: ${problem}`)),
    ),
    ...(state.dashboard === undefined ? [] : [`  map ${state.dashboard}`]),
    `  export KUBECONFIG=${inShell(kubeconfig)}`,
    '',
  ].join('\n');
}

/** Quotes a path for a shell. */
const inShell = (path: string): string =>
  /^[\w./@%+:,-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
